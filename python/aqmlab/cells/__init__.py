"""Cells: one resolved spec with one seed, and the columns that identify it."""
