"""Stopping once the seeds are enough, at looks that are fixed beforehand, without being misled by having looked.

Who takes more seeds until an interval is narrow stops, more often than not, where it happens to be narrow in the wrong
place. Repeated intervals hold at all looks together, whichever of them is the last and whatever made it so (Jennison
and Turnbull, "Interim analyses: the repeated confidence interval approach", Journal of the Royal Statistical Society B
51, 1989). These are the plainest: the error is split evenly, 0.05 / 4 for Student's interval at each of four looks
(Bonferroni's inequality).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aqmlab.results.stats.intervals import Values, half_width

LOOKS = (5, 10, 20, 40)
"""The numbers of seeds at which it is looked."""


def repeated_half_width(values: Values, *, confidence: float = 0.95) -> Values:
    """Return half the width of the mean's interval at one look, along the last axis: all looks hold with confidence."""
    return np.asarray(half_width(values, confidence=1 - (1 - confidence) / len(LOOKS)))


def is_precise(values: Values, fraction: float) -> NDArray[np.bool_]:
    """Say whether the mean along the last axis is known to within a fraction of itself."""
    return np.asarray(repeated_half_width(values) <= fraction * np.abs(values.mean(axis=-1)))
