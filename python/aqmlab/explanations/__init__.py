"""Explanation of response times by cause, from an observed rerun of a cell."""

from aqmlab.explanations.explanation import PARTS, Explanation, by_band, explain

__all__ = ["PARTS", "Explanation", "by_band", "explain"]
