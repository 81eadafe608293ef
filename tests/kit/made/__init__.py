"""Synthetic results, stores and pages, a module a subject."""
