"""Traces of link capacity over time: formats, conversion, drawing and download."""
