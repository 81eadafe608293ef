"""Explanation of response times and page load times by cause, from an observed rerun of a cell."""

from aqmlab.explanations.explanation import Explanation, explain
from aqmlab.explanations.parts import PAGES, PARTS, QUANTILES, REQUESTS, Wait, by_band

__all__ = ["PAGES", "PARTS", "QUANTILES", "REQUESTS", "Explanation", "Wait", "by_band", "explain"]
