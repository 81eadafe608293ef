"""Parameter search: tuning of a discipline, and sensitivity analysis of its parameters."""
