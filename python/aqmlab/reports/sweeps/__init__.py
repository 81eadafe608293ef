"""Figures of many experiments: small multiples, heat maps and parallel coordinates."""
