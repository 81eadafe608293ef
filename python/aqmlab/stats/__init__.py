"""Statistics: over seeds, and of response times. Pure functions from plain data or frames to the same."""

from aqmlab.stats.aggregate import SETTINGS, over_seeds, samples
from aqmlab.stats.bands import band_half_width, difference_band, quantile_differences, share_intervals
from aqmlab.stats.distributions import cdf, quantiles, shares_within
from aqmlab.stats.intervals import LEVEL, half_width, interval, mean_interval, p_value
from aqmlab.stats.paired import MIN_SEEDS, Difference, from_best, paired
from aqmlab.stats.sequential import LOOKS, is_precise, max_affected_share, relative_width, repeated_interval
from aqmlab.stats.warmup import mser5

__all__ = [
    "LEVEL",
    "LOOKS",
    "MIN_SEEDS",
    "SETTINGS",
    "Difference",
    "band_half_width",
    "cdf",
    "difference_band",
    "from_best",
    "half_width",
    "interval",
    "is_precise",
    "max_affected_share",
    "mean_interval",
    "mser5",
    "over_seeds",
    "p_value",
    "paired",
    "quantile_differences",
    "quantiles",
    "relative_width",
    "repeated_interval",
    "samples",
    "share_intervals",
    "shares_within",
]
