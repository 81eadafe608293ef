"""Specs: an experiment and its parts, and the text forms of schemes, variants and changes."""
