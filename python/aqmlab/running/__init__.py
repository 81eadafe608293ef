"""Runs: one cell or many, with progress, monitoring, packet captures and checks."""
