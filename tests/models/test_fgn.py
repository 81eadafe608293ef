from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import islice

import numpy as np
import pytest

from aqmlab.models.fgn import autocovariance, fgn, paths

HURST = [0.2, 0.5, 0.7, 0.9, 0.99]


@pytest.mark.parametrize("h", HURST)
def test_the_covariance_of_the_noise_is_that_of_its_definition(h: float) -> None:
    count = 20_000
    drawn = np.array(list(islice(paths(9, h, np.random.default_rng(1)), count)))
    i = np.arange(9)
    k = np.abs(i[:, None] - i).astype(float)
    expected = (abs(k + 1) ** (2 * h) - 2 * abs(k) ** (2 * h) + abs(k - 1) ** (2 * h)) / 2
    # The standard deviation of a mean of products of Gaussian variables is at most sqrt(2 / count).
    assert np.abs(drawn.T @ drawn / count - expected).max() < 4.5 * np.sqrt(2 / count)
    assert np.abs(drawn.mean(axis=0)).max() < 4.5 / np.sqrt(count)


@pytest.mark.parametrize("h", HURST)
def test_variances_of_sums_follow_from_the_autocovariance(h: float) -> None:
    # Var of a sum of n samples is n^2H: far beyond the lag at which the terms of the definition cancel.
    for n in (10, 1000, 1_000_000):
        lags = np.arange(1, n)
        variance = n * 1.0 + 2 * np.sum((n - lags) * autocovariance(lags, h))
        assert variance == pytest.approx(float(n) ** (2 * h), rel=1e-5)


@pytest.mark.parametrize("h", [0.2, 0.7, 0.9, 0.99])
@pytest.mark.parametrize("lag", [1, 10, 49, 50, 51, 1000, 5_000_000])
def test_the_autocovariance_has_ten_digits_at_any_lag(h: float, lag: int) -> None:
    with localcontext(prec=60):
        k, twice = Decimal(lag), 2 * Decimal(h)
        exact = float(((k + 1) ** twice - 2 * k**twice + (k - 1) ** twice) / 2)
    assert autocovariance(np.array([lag]), h)[0] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("h", HURST)
def test_nothing_is_cut_off_in_the_embedding(h: float) -> None:
    for n in (4, 1000, 300_000):
        gamma = autocovariance(np.arange(n + 1), h)
        eigenvalues = np.fft.fft(np.concatenate((gamma, gamma[-2:0:-1]))).real
        assert eigenvalues.min() > 0


def test_the_two_paths_of_one_transform_are_independent() -> None:
    drawn = np.array(list(islice(paths(500, 0.7, np.random.default_rng(2)), 2000)))
    first, second = drawn[::2], drawn[1::2]
    for lag in (0, 1, 10):
        products = (first[:, lag:] * second[:, : 500 - lag]).mean(axis=1)
        assert abs(products.mean()) < 4.5 * products.std() / np.sqrt(len(products))


def test_one_seed_gives_one_noise_and_white_noise_at_one_half() -> None:
    assert np.array_equal(fgn(1000, 0.8, np.random.default_rng(3)), fgn(1000, 0.8, np.random.default_rng(3)))
    assert autocovariance(np.arange(1000), 0.5).tolist() == [1.0] + [0.0] * 999
    assert fgn(1, 0.8, np.random.default_rng(3)).shape == (1,)


@pytest.mark.parametrize("h", [0.0, 1.0, -1.0, np.nan])
def test_an_impossible_h_is_refused(h: float) -> None:
    with pytest.raises(ValueError, match=r"^h: must be between 0 and 1, both excluded, got "):
        fgn(10, h, np.random.default_rng(1))


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^n: must be at least 1, got 0$"):
        fgn(0, 0.7, np.random.default_rng(1))
