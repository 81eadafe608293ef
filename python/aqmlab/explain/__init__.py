"""Where the time of a cell's requests went: the cell is run again, and watched."""

from aqmlab.explain.explanation import PARTS, Explanation, by_band, explain

__all__ = ["PARTS", "Explanation", "by_band", "explain"]
