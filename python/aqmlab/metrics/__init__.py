"""The numbers that a run measures, and their names."""
