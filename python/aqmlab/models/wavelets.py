"""Daubechies wavelets: their filters, and the energy of a series' details octave by octave.

Source: Daubechies, "Ten lectures on wavelets", 1992, chapters 5 and 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Octave(NamedTuple):
    """The details of one octave."""

    energy: float
    """The mean of their squares."""
    details: int
    """The number of details."""


def octaves(series: NDArray[np.float64], vanishing_moments: int, *, least: int) -> list[Octave]:
    """Return octave 1 and those above it that have at least ``least`` details.

    Only details whose filters lie wholly within the series are counted, so that its ends have no effect.
    """
    low_pass = scaling_filter(vanishing_moments)
    # The quadrature mirror filter: g_k = (-1)^k h_(L - 1 - k)
    high_pass = low_pass[::-1] * (-1.0) ** np.arange(len(low_pass))
    found: list[Octave] = []
    # Each octave halves what is left and loses a filter's length at the ends.
    while len(series) >= len(low_pass) + 2 * (least - 1):
        details = np.convolve(series, high_pass[::-1], "valid")[::2]
        found.append(Octave(float(np.mean(details**2)), len(details)))
        series = np.convolve(series, low_pass[::-1], "valid")[::2]
    return found


def scaling_filter(vanishing_moments: int) -> NDArray[np.float64]:
    """Return the 2N coefficients of the low-pass filter of N vanishing moments, minimum phase, of sum sqrt(2).

    Examples
    --------
    >>> scaling_filter(1)
    array([0.70710678, 0.70710678])
    """
    n = vanishing_moments
    # |h(w)|^2 = 2 cos(w/2)^2N P(sin(w/2)^2) with P(y) = sum over k < N of binom(N - 1 + k, k) y^k
    roots = np.roots([math.comb(n - 1 + k, k) for k in reversed(range(n))])
    # y = (2 - z - 1/z) / 4: of each pair of roots z the one inside the unit circle
    half = 1 - 2 * roots
    z = half + np.sqrt(half**2 - 1 + 0j)
    inside = np.where(np.abs(z) < 1, z, 1 / z)
    filter_ = np.real(np.poly(np.concatenate((np.full(n, -1.0), inside))))
    return np.asarray(math.sqrt(2) * filter_ / filter_.sum())
