"""Statistics: over seeds, and of response times. Pure functions from plain data or frames to the same.

``curves`` is of results: their distributions as a reader sees them.
"""

from aqmlab.results.stats.bands import band_half_width, difference_band, quantile_differences, share_intervals
from aqmlab.results.stats.distributions import cdf, quantiles, shares_within
from aqmlab.results.stats.intervals import LEVEL, half_width, interval, mean_interval, p_value
from aqmlab.results.stats.looks import LOOKS, is_precise, most_affected, relative_width, repeated_interval
from aqmlab.results.stats.pairs import FEWEST, Difference, from_best, paired
from aqmlab.results.stats.seeds import SETTINGS, over_seeds
from aqmlab.results.stats.steady import mser5

__all__ = [
    "FEWEST",
    "LEVEL",
    "LOOKS",
    "SETTINGS",
    "Difference",
    "band_half_width",
    "cdf",
    "difference_band",
    "from_best",
    "half_width",
    "interval",
    "is_precise",
    "mean_interval",
    "most_affected",
    "mser5",
    "over_seeds",
    "p_value",
    "paired",
    "quantile_differences",
    "quantiles",
    "relative_width",
    "repeated_interval",
    "share_intervals",
    "shares_within",
]
