from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from aqmlab.models import lrd
from aqmlab.models.fgn import paths
from aqmlab.models.lrd import Hurst

Estimator = Callable[[NDArray[np.float64]], Hurst]

ESTIMATORS: tuple[Estimator, ...] = (lrd.aggregated_variance, lrd.local_whittle, lrd.wavelet)

SEEDS = 200


@cache
def estimates(estimator: Estimator, h: float) -> list[Hurst]:
    """Estimates from independent paths of fractional Gaussian noise."""
    return [estimator(path) for path in islice(paths(8192, h, np.random.default_rng(5)), SEEDS)]


def noise(n: int, h: float) -> NDArray[np.float64]:
    return next(paths(n, h, np.random.default_rng(6)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("h", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_estimates_are_unbiased_with_nominal_coverage(estimator: Estimator, h: float) -> None:
    found = estimates(estimator, h)
    values = np.array([each.h for each in found])
    sd = values.std(ddof=1)
    assert abs(values.mean() - h) < 4 * sd / np.sqrt(SEEDS) + 0.005
    covered = sum(each.low <= h <= each.high for each in found)
    # So few would be one case in a thousand at 95 %; not all may be covered, or the intervals are too wide.
    assert stats.binom.ppf(0.001, SEEDS, 0.95) <= covered < SEEDS


def test_octaves_of_few_details_do_not_bias_the_wavelet_estimate() -> None:
    # 58, 27 and 11 details: the logarithm of a mean of so few squares is too small, each time by more.
    found = [lrd.wavelet(path, scales=(32, 128)).h for path in islice(paths(2048, 0.7, np.random.default_rng(9)), 1000)]
    assert np.mean(found) == pytest.approx(0.7, abs=4 * np.std(found) / np.sqrt(len(found)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_interval_is_as_wide_as_estimates_vary(estimator: Estimator) -> None:
    found = estimates(estimator, 0.7)
    width = np.mean([each.high - each.low for each in found])
    assert width == pytest.approx(2 * 1.96 * np.std([each.h for each in found], ddof=1), rel=0.2)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_unit_and_a_mean_change_nothing(estimator: Estimator) -> None:
    path = noise(4096, 0.8)
    one, other = estimator(path), estimator(1500 * (path + 40))
    assert (other.h, other.low, other.high) == pytest.approx((one.h, one.low, one.high), abs=1e-4)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_independent_counts_have_an_h_of_one_half(estimator: Estimator) -> None:
    found = estimator(np.random.default_rng(7).poisson(3, 100_000).astype(float))
    assert found.low < 0.5 < found.high
    assert found.high - found.low < 0.2


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_short_range_dependence_is_not_taken_for_long(estimator: Callable[..., Hurst]) -> None:
    # Each count is repeated 8 times: from sample to sample the series is as good as constant.
    series = [np.repeat(np.random.default_rng(seed).standard_normal(5000), 8) for seed in range(10)]
    assert np.mean([estimator(each, scales=(2, 32)).h for each in series]) > 0.7
    far = [estimator(each, scales=(128, 1024)) for each in series]
    assert np.mean([each.h for each in far]) == pytest.approx(0.5, abs=0.05)
    assert all(128 <= each.scales[0] < each.scales[1] <= 1024 for each in far)


def test_wavelets_ignore_polynomials_of_low_degree() -> None:
    path, time = noise(8192, 0.7), np.linspace(0, 1, 8192)
    for height, degree, moments in ((100, 1, 2), (10_000, 2, 3)):
        trend = path + height * time**degree
        plain = lrd.wavelet(path, vanishing_moments=moments).h
        assert lrd.wavelet(trend, vanishing_moments=moments).h == pytest.approx(plain, abs=1e-6)
        assert lrd.wavelet(trend, vanishing_moments=moments - 1).h > plain + 0.1
    assert lrd.local_whittle(path + 50 * time).h > 1, "the others take a trend for dependence"


def test_the_whittle_estimate_minimises_the_likelihood() -> None:
    path = noise(1000, 0.8)
    found = lrd.local_whittle(path, scales=(20, 1000))
    lam = 2 * np.pi * np.arange(1, 51) / 1000
    spectrum = [abs(np.sum(path * np.exp(-1j * each * np.arange(1000)))) ** 2 for each in lam]

    def contrast(h: float) -> float:
        return float(np.log(np.mean(lam ** (2 * h - 1) * spectrum)) - (2 * h - 1) * np.mean(np.log(lam)))

    grid = np.arange(0.2, 1.2, 0.0005)
    assert found.h == pytest.approx(grid[np.argmin([contrast(h) for h in grid])], abs=0.001)
    assert 1.96 / (2 * np.sqrt(50)) < found.high - found.h < 1.3 * 1.96 / (2 * np.sqrt(50)), "Robinson's, of 50"


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([7.0] * 1000, "counts: must vary, got 7 throughout"),
        ([1.0, 2.0] * 200, r"counts: must be one series of at least 512 samples, got the shape \(400,\)"),
        (np.ones((600, 2)), r"counts: must be one series of at least 512 samples, got the shape \(600, 2\)"),
        ([*range(600), np.nan, np.inf], "counts: must be finite numbers, got nan at 600"),
        ([*range(600), -np.inf], "counts: must be finite numbers, got -inf at 600"),
    ],
)
def test_a_series_that_cannot_be_used_is_refused_in_one_line(
    estimator: Estimator, counts: NDArray[np.float64], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        estimator(counts)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("scales", [(0, 100), (100, 100), (100, 50), (1, 1_000_000)])
def test_scales_outside_the_series_are_refused(estimator: Callable[..., Hurst], scales: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=rf"^scales: must rise, .*, got {scales[0]} to {scales[1]}$"):
        estimator(noise(4096, 0.7), scales=scales)


def test_variances_need_ten_blocks_and_at_most_65536() -> None:
    with pytest.raises(ValueError, match=r"^scales: must rise, between 1 and 409 samples, got 1 to 410$"):
        lrd.aggregated_variance(noise(4096, 0.7), scales=(1, 410))
    with pytest.raises(ValueError, match=r"^scales: must rise, between 2 and 7000 samples, got 1 to 100$"):
        lrd.aggregated_variance(noise(70_000, 0.7), scales=(1, 100))


@pytest.mark.parametrize(
    ("estimator", "scales", "points"),
    [
        (lrd.aggregated_variance, (100, 250), "block sizes, got 2"),
        (lrd.local_whittle, (1000, 1100), "frequencies, got 1"),
        (lrd.wavelet, (60, 250), "octaves, got 2"),
    ],
)
def test_too_few_points_to_fit_are_refused(
    estimator: Callable[..., Hurst], scales: tuple[int, int], points: str
) -> None:
    message = f"scales: must span at least 3 {points} for {scales[0]} to {scales[1]} samples"
    with pytest.raises(ValueError, match=f"^{message}$"):
        estimator(noise(4096, 0.7), scales=scales)


def test_an_impossible_number_of_vanishing_moments_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^vanishing_moments: must be between 1 and 10, got 0$"):
        lrd.wavelet(noise(4096, 0.7), vanishing_moments=0)


def test_a_series_without_variation_at_one_scale_is_refused() -> None:
    alternating = np.tile([0.0, 1.0], 1000)
    message = r"^counts: must vary at every scale, got one without any variation$"
    with pytest.raises(ValueError, match=message):
        lrd.aggregated_variance(alternating, scales=(2, 100))
    with pytest.raises(ValueError, match=message):
        lrd.wavelet(alternating, vanishing_moments=1)
