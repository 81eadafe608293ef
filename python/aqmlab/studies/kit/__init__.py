"""Shared parts of studies: runs, tables, figures, claims, and pages."""
