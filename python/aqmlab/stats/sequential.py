"""Sequential test: the decision at looks fixed in advance that the seeds are enough.

Adding seeds until an ordinary interval is narrow often stops at an interval that is narrow by chance and wrong.
Repeated confidence intervals hold at all looks together, for any reason to stop at a look
(Jennison and Turnbull, "Interim analyses: the repeated confidence interval approach", Journal of the Royal Statistical
Society B 51, 1989). The error is split evenly over the looks, 0.05 / 4 for each (Bonferroni's inequality).

Student's interval holds for values near normal. For skewed values it is too narrow, and for a rare event it has width 0
until the event is seen. A value that is 0 or more therefore gets the hull of two intervals: Student's, and that of a
lognormal mean times the share of seeds that are above 0. The mean of lognormal values is estimated by Cox's method
(Zhou and Gao, "Confidence intervals for the log-normal mean", Statistics in Medicine 16, 1997) with Student's quantile,
the share by Clopper and Pearson's exact interval (Biometrika 26, 1934), each at half of the error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aqmlab.stats.intervals import LEVEL, Values, half_width

LOOKS = (5, 10, 20, 40)
"""The numbers of seeds at which the rule looks."""


def repeated_interval(values: Values) -> tuple[Values, Values]:
    """Return the bounds of the mean's interval at one look, along the last axis: all looks hold together with 95 %.

    The upper bound is infinite where fewer than two values differ from 0.
    """
    error = LEVEL / len(LOOKS)
    mean, half = values.mean(axis=-1), half_width(values, confidence=1 - error)
    low, high = mean - half, mean + half
    is_count = np.asarray((values >= 0).all(axis=-1))
    skewed_low, skewed_high = _skewed_interval(np.where(is_count[..., None], values, 1.0), error)
    return np.where(is_count, np.minimum(low, skewed_low), low), np.where(is_count, np.maximum(high, skewed_high), high)


def relative_width(values: Values) -> Values:
    """Return the distance of the bounds from the mean along the last axis, as a fraction of the mean.

    Equal values give no estimate of their variance: their width is infinite.
    """
    mean = np.abs(values.mean(axis=-1))
    low, high = repeated_interval(values)
    # Equal values may differ from their mean by rounding, so that their standard deviation is not exactly 0.
    varies = (np.ptp(values, axis=-1) > 0) & (mean > 0)
    widest = np.maximum(values.mean(axis=-1) - low, high - values.mean(axis=-1))
    return np.asarray(np.where(varies, widest / np.where(varies, mean, 1.0), np.inf))


def is_precise(values: Values, fraction: float) -> NDArray[np.bool_]:
    """Return true where the mean along the last axis is known to within this fraction of itself."""
    return np.asarray(relative_width(values) <= fraction)


def max_affected_share(seeds: int) -> float:
    """Return the upper 95 % bound of the share of seeds with an event that none of these seeds has.

    For many seeds it is 3 / n, the rule of three. It holds at all looks together without a correction: no event at a
    look implies no event at the earlier looks, so that the first wrong bound decides.

    Examples
    --------
    >>> round(max_affected_share(5), 2), round(max_affected_share(40), 3)
    (0.45, 0.072)
    """
    return 1.0 - float(LEVEL ** (1 / seeds))


def _skewed_interval(values: Values, error: float) -> tuple[Values, Values]:
    """Return the bounds of the mean of values of which a share is 0 and the others are lognormal."""
    from scipy import special

    n = values.shape[-1]
    is_positive = values > 0
    k = is_positive.sum(axis=-1)
    # Without zeros the share is 1, and the whole error is that of the lognormal mean.
    mean_error = np.where(k == n, error, error / 2)
    logs = np.log(np.where(is_positive, values, 1.0))
    degrees_of_freedom = np.maximum(k - 1, 1)
    mean_log = logs.sum(axis=-1) / np.maximum(k, 1)
    variance = np.where(is_positive, (logs - mean_log[..., None]) ** 2, 0.0).sum(axis=-1) / degrees_of_freedom
    half = special.stdtrit(degrees_of_freedom, 1 - mean_error / 2) * np.sqrt(
        variance / np.maximum(k, 1) + variance**2 / (2 * degrees_of_freedom)
    )
    share_low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), n - k + 1, error / 4), 0.0)
    share_high = np.where(k < n, special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - error / 4), 1.0)
    share_low = np.where(k == n, 1.0, share_low)
    with np.errstate(over="ignore"):
        low = share_low * np.exp(mean_log + variance / 2 - half)
        high = share_high * np.exp(mean_log + variance / 2 + half)
    return np.where(k > 1, low, 0.0), np.where(k > 1, high, np.inf)
