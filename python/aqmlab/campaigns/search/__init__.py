"""Search in a space of parameters: tuning and sensitivity analysis."""
