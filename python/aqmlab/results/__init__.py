"""Comparisons of schemes: their plans, statistics over seeds, tables and figures."""
