"""Figures of results: charts that are described once, and their drawing in matplotlib."""
