"""Workloads of households: people and devices at home, as web users and ordinary sources."""
