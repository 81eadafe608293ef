"""Long-range dependence: the Hurst parameter H of a series of counts, such as packets or bytes in each millisecond.

For long-range dependent counts the mean of m of them varies as m^(2H - 2), and their spectrum near frequency 0 is
lambda^(1 - 2H), with 1/2 < H < 1. Three estimators, those of Le et al. (2003), section 3.2, on different sides of this:

* aggregated variance: Taqqu, Teverovsky and Willinger, "Estimators for long-range dependence: an empirical study",
  Fractals 3, 1995;
* local Whittle: Robinson, "Gaussian semiparametric estimation of long range dependence", Annals of Statistics 23, 1995;
* wavelets: Abry and Veitch, "Wavelet analysis of long-range-dependent traffic", IEEE Trans. Information Theory 44,
  1998; Veitch and Abry, "A wavelet-based joint estimator of the parameters of long-range dependence", ibid. 45, 1999.

``scales`` are the shortest and the longest span of time, in samples, over which the power law is fitted: block sizes,
periods, 2^octave. H describes no shorter scale, where protocols and not users shape the traffic. By
default the shortest scale is n^0.35 for n samples, Robinson's bandwidth of n^0.65 frequencies: it must grow with n, and
grows slowly. No estimator shows whether there is a power law; compare the results over several ranges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, optimize, special

from aqmlab.models.fgn import paths
from aqmlab.models.wavelets import octaves

_Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Hurst:
    """An estimate of the Hurst parameter with its 95 % confidence interval."""

    method: str
    h: float
    low: float
    high: float
    scales: tuple[int, int]
    """The shortest and the longest scale used, in samples."""


def aggregated_variance(counts: ArrayLike, *, scales: tuple[int, int] | None = None) -> Hurst:
    """Estimate H from the decrease of the variance of means over m samples with m.

    The sample variance S^2(m) of the means of n/m blocks is fitted, on logarithmic axes, to its expectation

        E S^2(m) = sigma^2 (m^(2H - 2) - n^(2H - 2))

    The second term corrects for the variance around the mean of the series. The straight line that is often fitted
    omits it, and gives too small an H.

    Parameters
    ----------
    counts
        The series, of shape (n,).
    scales
        The smallest and the largest block, in samples; by default n^0.35 and n/50. The smallest is at least n/65,536,
        for the sake of the interval.

    Returns
    -------
    Hurst
        The interval holds those H, up to 1, that are within 1.96 standard deviations of the estimate: those which the
        estimate has on fractional Gaussian noise of that H, as long as the series and fitted over the same scales (100
        paths, the same each time). It assumes Gaussian counts with one H at all scales used. The errors at different m
        are far from independent: those of a regression would be much too small.

    Raises
    ------
    ValueError
        When the series or the scales cannot be used.

    Examples
    --------
    >>> from aqmlab.models.fgn import fgn
    >>> found = aggregated_variance(fgn(100_000, 0.8, np.random.default_rng(1)))
    >>> found.low < 0.8 < found.high
    True
    """
    series = _series(counts)
    n = len(series)
    shortest, longest = _scales(scales, default=(_shortest(n), n // 50), least=math.ceil(n / 2**16), most=n // 10)
    # From here on a sample is a block of the shortest scale: means of fractional Gaussian noise are such noise again.
    blocks = _means(series, shortest)
    sizes = tuple(np.unique(np.geomspace(1, longest // shortest, 30).round().astype(int)).tolist())
    _enough(len(sizes), "block sizes", (shortest, longest))
    h = _VarianceCurves(len(blocks), sizes).fit(_variances(blocks, sizes))
    tried, sd = _tried_on_noise(len(blocks), sizes)
    # How many standard deviations an H is above this estimate rises with H.
    low, high = np.interp((-_NORMAL, _NORMAL), (tried - h) / sd, tried, left=0, right=1)
    return Hurst(
        method="aggregated variance", h=h, low=float(low), high=float(high), scales=(shortest, shortest * sizes[-1])
    )


def local_whittle(counts: ArrayLike, *, scales: tuple[int, int] | None = None) -> Hurst:
    """Estimate H from the periodogram I at low frequencies, by Whittle's likelihood of lambda^(1 - 2H).

    H minimises R(H) = log(mean of lambda_j^(2H - 1) I(lambda_j)) - (2H - 1) (mean of log lambda_j).

    Parameters
    ----------
    counts
        The series, of shape (n,).
    scales
        The shortest and the longest period, in samples; by default n^0.35, that is n^0.65 frequencies, and n.

    Returns
    -------
    Hurst
        The interval is the asymptotic one, which needs no Gaussian counts: with nu_j = log j less its mean over the
        frequencies used, the variance is 1 / (4 sum nu_j^2). That is Robinson's 1 / (4m) in the limit, and holds for
        few frequencies and without the lowest too.

    Raises
    ------
    ValueError
        When the series or the scales cannot be used.

    Notes
    -----
    H is sought up to 1.25, to which the normal limit holds (Velasco, "Gaussian semiparametric estimation of
    non-stationary time series", J. Time Series Analysis 20, 1999). A trend looks like a larger H.

    Examples
    --------
    >>> from aqmlab.models.fgn import fgn
    >>> found = local_whittle(fgn(100_000, 0.8, np.random.default_rng(1)))
    >>> found.low < 0.8 < found.high
    True
    """
    series = _series(counts)
    n = len(series)
    shortest, longest = _scales(scales, default=(_shortest(n), n), most=n)
    first, last = math.ceil(n / longest), min(n // shortest, (n - 1) // 2)
    _enough(last - first + 1, "frequencies", (shortest, longest))
    periodogram = np.abs(np.asarray(fft.rfft(series))[first : last + 1]) ** 2
    log_j = np.log(np.arange(first, last + 1))
    nu = log_j - log_j.mean()

    def contrast(h: float) -> float:
        # Frequencies relative to their geometric mean: R(H) but for a constant.
        return math.log(np.mean(np.exp((2 * h - 1) * nu) * periodogram))

    h = float(optimize.minimize_scalar(contrast, bounds=(0, 1.25), method="bounded").x)
    return _result("local Whittle", h, 1 / (2 * math.sqrt(np.sum(nu**2))), (shortest, longest))


def wavelet(counts: ArrayLike, *, scales: tuple[int, int] | None = None, vanishing_moments: int = 3) -> Hurst:
    """Estimate H from the energy of Daubechies wavelet details, which rises by 2H - 1 for each octave.

    With mu_j the mean square of the n_j details of octave j, y_j = log2 mu_j - g(n_j) is regressed on j, weighted by
    the inverse of its variance, where

        g(n) = psi(n/2) / ln 2 - log2(n/2)        Var y_j = zeta(2, n_j/2) / (ln 2)^2

    are the bias and the variance of the logarithm of a mean of squares (Veitch and Abry 1999, section III).

    Parameters
    ----------
    counts
        The series, of shape (n,).
    scales
        The octaves j are those with 2^j between these, in samples; by default n^0.35 and as far as there are at least
        8 details.
    vanishing_moments
        N, 1 to 10. A polynomial trend of a degree below N has no effect. The default is ours: it ignores a parabola.

    Returns
    -------
    Hurst
        The interval is that of the weighted regression, for Gaussian details without correlation. Those of long-range
        dependent series are almost so, where N > H + 1/2.

    Raises
    ------
    ValueError
        When the series, the scales or the number of moments cannot be used.

    Notes
    -----
    Only details whose filters lie within the series are used. The samples stand in for the first approximation, which
    biases octaves 1 and 2: begin at 8 samples or later.

    Examples
    --------
    >>> from aqmlab.models.fgn import fgn
    >>> found = wavelet(fgn(100_000, 0.8, np.random.default_rng(1)) + np.linspace(0, 10, 100_000))
    >>> found.low < 0.8 < found.high
    True
    """
    series = _series(counts)
    if not 1 <= vanishing_moments <= 10:
        raise ValueError(f"vanishing_moments: must be between 1 and 10, got {vanishing_moments}")
    n = len(series)
    shortest, longest = _scales(scales, default=(_shortest(n), n), most=n)
    found = octaves(series, vanishing_moments, least=8)
    j = np.arange(max(1, math.ceil(math.log2(shortest))), min(math.floor(math.log2(longest)), len(found)) + 1)
    _enough(len(j), "octaves", (shortest, longest))
    mu, count = np.array(found)[j - 1].T
    _check_varies(mu)
    bias = special.digamma(count / 2) / math.log(2) - np.log2(count / 2)
    weight = math.log(2) ** 2 / special.zeta(2, count / 2)
    y = np.log2(mu) - bias
    # A weighted straight line: slope = sum w (j - mean j) y / sum w (j - mean j)^2
    from_centre = j - np.average(j, weights=weight)
    spread = np.sum(weight * from_centre**2)
    slope = float(np.sum(weight * from_centre * y) / spread)
    return _result("wavelet", (slope + 1) / 2, 1 / (2 * math.sqrt(spread)), (2 ** int(j[0]), 2 ** int(j[-1])))


def _series(counts: ArrayLike) -> _Floats:
    series = np.asarray(counts, dtype=np.float64)
    if series.ndim != 1 or len(series) < _LEAST:
        raise ValueError(f"counts: must be one series of at least {_LEAST} samples, got the shape {series.shape}")
    if not np.isfinite(series).all():
        first = int(np.argmin(np.isfinite(series)))
        raise ValueError(f"counts: must be finite numbers, got {series[first]} at {first}")
    if np.ptp(series) == 0:
        raise ValueError(f"counts: must vary, got {series[0]:g} throughout")
    return series


_LEAST = 512
"""With fewer samples the default scales leave hardly any points to fit."""


def _shortest(n: int) -> int:
    return int(n**0.35)


def _scales(given: tuple[int, int] | None, *, default: tuple[int, int], least: int = 1, most: int) -> tuple[int, int]:
    shortest, longest = given or default
    if not least <= shortest < longest <= most:
        raise ValueError(f"scales: must rise, between {least} and {most} samples, got {shortest} to {longest}")
    return shortest, longest


def _enough(points: int, what: str, scales: tuple[int, int]) -> None:
    if points < 3:
        raise ValueError(f"scales: must span at least 3 {what}, got {points} for {scales[0]} to {scales[1]} samples")


def _means(series: _Floats, size: int) -> _Floats:
    whole = len(series) // size * size
    return np.asarray(series[:whole].reshape(-1, size).mean(axis=1))


def _variances(samples: _Floats, sizes: tuple[int, ...]) -> _Floats:
    variances = np.array([_means(samples, size).var(ddof=1) for size in sizes])
    _check_varies(variances)
    return variances


def _check_varies(variances: _Floats) -> None:
    if not variances.all():
        raise ValueError("counts: must vary at every scale, got one without any variation")


class _VarianceCurves:
    """The expected variances of means over blocks of some sizes, out of n samples, for every H."""

    def __init__(self, n: int, sizes: tuple[int, ...]) -> None:
        # Beyond 1 as well, so that estimates of an H below it are not cut off; but at 1, where the curve is log(n/m).
        self.h = np.arange(0.0005, 1.5, 0.001)
        a = 2 - 2 * self.h[:, np.newaxis]
        curves = np.log((np.array(sizes, dtype=np.float64) ** -a - float(n) ** -a) / a)
        self.centred = curves - curves.mean(axis=1, keepdims=True)

    def fit(self, variances: _Floats) -> float:
        """Return the H whose curve is nearest by least squares of logarithms, for any sigma."""
        misfit = np.var(np.log(variances) - self.centred, axis=1)
        return round(float(self.h[np.argmin(misfit)]), 4)


@cache
def _tried_on_noise(n: int, sizes: tuple[int, ...]) -> tuple[_Floats, _Floats]:
    """Return some H, and the standard deviation of the estimates on fractional Gaussian noise of each."""
    tried = np.array([0.01, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99])
    curves = _VarianceCurves(n, sizes)
    # The same randomness for each H, so that what is found changes smoothly with it.
    found = [
        [curves.fit(_variances(path, sizes)) for path in islice(paths(n, h, np.random.default_rng(1)), 100)]
        for h in tried
    ]
    return tried, np.std(found, axis=1, ddof=1)


def _result(method: str, h: float, sd: float, scales: tuple[int, int]) -> Hurst:
    return Hurst(method=method, h=h, low=h - _NORMAL * sd, high=h + _NORMAL * sd, scales=scales)


_NORMAL = float(special.ndtri(0.975))
