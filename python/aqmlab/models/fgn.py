"""Fractional Gaussian noise: the standard of long-range dependence, on which estimators of H are tested.

Its samples are the increments of fractional Brownian motion: stationary, Gaussian, of variance 1, with

    gamma(k) = (|k + 1|^2H - 2 |k|^2H + |k - 1|^2H) / 2

Sources: Mandelbrot and Van Ness, "Fractional Brownian motions, fractional noises and applications", SIAM Review 10,
1968; drawn without approximation by circulant embedding: Davies and Harte, "Tests for Hurst effect", Biometrika 74,
1987, in the complex form of Dietrich and Newsam, "Fast and exact simulation of stationary Gaussian processes through
circulant embedding of the covariance matrix", SIAM J. Sci. Comput. 18, 1997.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special


def fgn(n: int, h: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw fractional Gaussian noise of mean 0 and variance 1.

    Parameters
    ----------
    n
        Number of samples, at least 1.
    h
        The Hurst parameter, between 0 and 1, both excluded; 0.5 is white noise.
    rng
        Source of randomness.

    Returns
    -------
    numpy.ndarray
        The samples, of shape (n,).

    Raises
    ------
    ValueError
        When there is no such noise.

    Examples
    --------
    >>> noise = fgn(100_000, 0.8, np.random.default_rng(1))
    >>> bool(abs(np.mean(noise[1:] * noise[:-1]) - autocovariance(np.array([1]), 0.8)[0]) < 0.05)
    True
    """
    return next(paths(n, h, rng))


def paths(n: int, h: float, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """Draw one independent path of :func:`fgn` after another, which is cheaper than one at a time."""
    if n < 1:
        raise ValueError(f"n: must be at least 1, got {n}")
    # Of a length that transforms quickly, and at least such that every lag up to n is embedded.
    half = fft.next_fast_len(n, real=False)
    gamma = autocovariance(np.arange(half + 1), h)
    # Never negative for this covariance, but for rounding.
    eigenvalues = fft.fft(np.concatenate((gamma, gamma[-2:0:-1]))).real.clip(0)
    scale = np.sqrt(eigenvalues / len(eigenvalues))
    while True:
        normal = rng.standard_normal((2, len(scale)))
        both = fft.fft(scale * (normal[0] + 1j * normal[1]), overwrite_x=True)
        yield both.real[:n].copy()
        yield both.imag[:n].copy()


def autocovariance(lags: NDArray[np.int64], h: float) -> NDArray[np.float64]:
    """Return gamma at lags of at least 0, for noise of variance 1.

    Examples
    --------
    >>> autocovariance(np.array([0, 1, 1000]), 0.5)
    array([1., 0., 0.])
    """
    if not 0 < h < 1:
        raise ValueError(f"h: must be between 0 and 1, both excluded, got {h:g}")
    k = np.abs(lags).astype(np.float64)
    exact = ((k + 1) ** (2 * h) - 2 * k ** (2 * h) + np.abs(k - 1) ** (2 * h)) / 2
    # The three terms all but cancel at long lags; there a binomial series is exact to the last digits.
    far = np.maximum(k, _FAR)
    series = sum(special.binom(2 * h, 2 * i) * far ** (2 * h - 2 * i) for i in (1, 2, 3, 4))
    return np.where(k < _FAR, exact, series)


_FAR = 50.0
"""The lag from which on the series is the more precise: what it leaves out is below 50^-8 of its first term."""
