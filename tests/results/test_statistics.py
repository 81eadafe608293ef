"""Statistical guarantees on data whose truth is known: thousands of experiments from one seed of numpy."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from numpy.typing import NDArray

from aqmlab import stats
from aqmlab._core import SpecError

Values = NDArray[np.float64]

REPETITIONS = 10_000
"""A share of 95 % of these has a standard error of 0.2 %."""


@pytest.fixture
def draws() -> np.random.Generator:
    return np.random.default_rng(20261123)


def correlated(draws: np.random.Generator, seeds: int, numbers: int, correlation: float) -> Values:
    """Return numbers of no mean, by experiment, seed and number; those of one seed have something in common."""
    noise = draws.standard_normal((REPETITIONS, seeds, numbers))
    common = draws.standard_normal((REPETITIONS, seeds, 1))
    return np.asarray(np.sqrt(1 - correlation) * noise + np.sqrt(correlation) * common)


@pytest.mark.parametrize("seeds", [2, 3, 5, 20])
def test_nineteen_of_twenty_intervals_hold_the_mean(draws: np.random.Generator, seeds: int) -> None:
    values = 7 + 3 * draws.standard_normal((REPETITIONS, seeds))
    holds = np.abs(values.mean(axis=-1) - 7) <= stats.half_width(values, confidence=0.95)
    assert holds.mean() == pytest.approx(0.95, abs=0.01)
    low, high = stats.mean_interval(values[0])[1:]
    assert holds[0] == (low <= 7 <= high)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_intervals_of_many_schemes_hold_together(draws: np.random.Generator, correlation: float) -> None:
    values = correlated(draws, seeds=5, numbers=8, correlation=correlation)

    def misses(comparisons: int) -> float:
        half = stats.half_width(values, confidence=1 - stats.LEVEL / comparisons, axis=1)
        return float((np.abs(values.mean(axis=1)) > half).any(axis=1).mean())

    assert misses(8) <= stats.LEVEL + 0.01
    assert misses(1) > 2 * stats.LEVEL


def test_a_difference_is_significant_if_its_interval_excludes_0(draws: np.random.Generator) -> None:
    for mean in (0.0, 1.0, 2.0, 4.0):
        for values in mean + draws.standard_normal((50, 5)):
            difference = stats.Difference.between(values, np.zeros(5), comparisons=3, looks=2)
            p_value = scipy.stats.ttest_1samp(values, 0).pvalue
            assert difference.p == pytest.approx(min(1.0, 6 * p_value))
            assert difference.is_significant == (6 * p_value < stats.LEVEL)
            assert difference.high - difference.mean == pytest.approx(
                scipy.stats.t(4).ppf(1 - 0.025 / 6) * scipy.stats.sem(values)
            )


@pytest.mark.parametrize("distance", [0.0, 0.5, 2.0])
def test_the_best_scheme_is_among_those_not_told_from_the_first(draws: np.random.Generator, distance: float) -> None:
    schemes, lost = [f"scheme {number}" for number in range(5)], 0
    for values in draws.standard_normal((2_000, 5, 5)):
        values[:, 1:] += distance
        differences = stats.from_best(dict(zip(schemes, values.T, strict=True)))
        best = differences[schemes[0]]
        lost += best is not None and best.is_significant
    assert lost <= stats.LEVEL * 2_000


def test_pairs_that_do_not_vary_tell_nothing() -> None:
    for values in ([2.0, 2.0, 2.0], [2.0]):
        difference = stats.Difference.between(np.array(values), np.ones(len(values)))
        assert (difference.mean, difference.p, difference.is_significant) == (1.0, None, False)
        assert difference.high == -difference.low == np.inf


TIMES = np.geomspace(0.1, 4, 20)


def differences_of_cdfs(draws: np.random.Generator, seeds: int) -> tuple[Values, Values]:
    """Draw the differences of two schemes' distributions by experiment, seed and time, and return their true means.

    In each seed the requests of both take exponential times whose rates are those of the seed's users, drawn from gamma
    distributions: their distributions are known, skew, and have users in common.
    """
    requests, shape = 2000, 8.0
    common = draws.gamma(shape, size=(REPETITIONS, seeds, 1))

    def scheme(slower: float) -> tuple[Values, Values]:
        within = 1 - np.exp(-common / shape / slower * TIMES)
        between = np.diff(within, prepend=0, append=1)
        share = draws.multinomial(requests, between)[..., :-1].cumsum(axis=-1) / requests
        return share, 1 - (1 + TIMES / shape / slower) ** -shape

    (first, truth), (second, other_truth) = scheme(1.0), scheme(1.3)
    return second - first, other_truth - truth


@pytest.mark.parametrize("seeds", [3, 5, 20])
def test_a_band_covers_the_whole_true_difference_in_19_of_20(draws: np.random.Generator, seeds: int) -> None:
    differences, truth = differences_of_cdfs(draws, seeds)
    mean, half = differences.mean(axis=1), stats.band_half_width(differences)
    # It is conservative, and not by much.
    assert 0.94 <= (np.abs(mean - truth) <= half).all(axis=1).mean() <= 0.98
    at_each_time = stats.half_width(differences, confidence=0.95, axis=-2)
    assert (np.abs(mean - truth) <= at_each_time).all(axis=1).mean() < 0.85


def histogram(times_ms: Values) -> pl.DataFrame:
    counts, edges = np.histogram(times_ms, bins=np.geomspace(1, 1e5, 800))
    return pl.DataFrame({"time_low_ms": edges[:-1], "time_high_ms": edges[1:], "count": counts})


def test_the_band_of_histograms_is_that_of_their_shares(draws: np.random.Generator) -> None:
    samples = [[draws.exponential(mean, 2000) for _ in range(4)] for mean in (100.0, 150.0)]
    first, second = ([histogram(times) for times in seeds_of_scheme] for seeds_of_scheme in samples)
    band = stats.difference_band(first, second, times_ms=[50, 100, 400])
    shares = np.array(
        [
            [[np.mean(times < time) for time in band["time_ms"]] for times in seeds_of_scheme]
            for seeds_of_scheme in samples
        ]
    )
    differences = shares[1] - shares[0]
    assert band["difference"].to_numpy() == pytest.approx(differences.mean(axis=0), abs=0.005)
    half = scipy.stats.t(3).ppf(1 - 0.025 / 3) * scipy.stats.sem(differences)
    assert (band["high"] - band["low"]).to_numpy() == pytest.approx(2 * half, abs=0.02)
    assert (band["high"] < 0).all()
    usual = stats.difference_band(first, second)
    assert usual["time_ms"].is_sorted()
    assert len(usual) == 20


def test_any_quantile_differs_by_so_much_with_students_interval(draws: np.random.Generator) -> None:
    samples = [[draws.exponential(mean, 2000) for _ in range(4)] for mean in (100.0, 150.0)]
    first, second = ([histogram(times) for times in seeds_of_scheme] for seeds_of_scheme in samples)
    result = stats.quantile_differences(first, second, fractions=[0.2, 0.975])
    exact = np.array([[np.quantile(times, [0.2, 0.975]) for times in seeds_of_scheme] for seeds_of_scheme in samples])
    differences = exact[1] - exact[0]
    assert result["difference"].to_numpy() == pytest.approx(differences.mean(axis=0), rel=0.03, abs=0.5)
    half = scipy.stats.t(3).ppf(0.975) * scipy.stats.sem(differences)
    assert (result["high"] - result["low"]).to_numpy() == pytest.approx(2 * half, rel=0.1, abs=2)
    none = histogram(np.array([]))
    assert stats.quantile_differences(first, [*second[1:], none], fractions=[0.5]).is_empty()
    with pytest.raises(SpecError, match=r"^quantile: must be from 0 to 1, got 1\.5$"):
        stats.quantile_differences(first, second, fractions=[1.5])


def test_a_band_needs_pairs_of_seeds_and_requests_in_each() -> None:
    filled, empty = histogram(np.array([5.0, 50.0])), histogram(np.array([]))
    with pytest.raises(SpecError, match=r"^band: must have two pairs of seeds at least, got 1 and 1 seeds$"):
        stats.difference_band([filled], [filled])
    assert stats.difference_band([filled, filled], [filled, empty]).is_empty()


def looked_at(values: Values, truth: float, fraction: float) -> tuple[float, float]:
    """Return in which share of experiments a mean is known to a fraction, and in which it is known and missed."""
    ends, misled = (np.zeros(len(values), dtype=bool) for _ in range(2))
    for seeds in stats.LOOKS:
        sample = values[:, :seeds]
        low, high = stats.repeated_interval(sample)
        known = ~ends & stats.is_precise(sample, fraction)
        misled |= known & ~((low <= truth) & (truth <= high))
        ends |= known
    return float(ends.mean()), float(misled.mean())


@pytest.mark.parametrize("fraction", [0.02, 0.05, 0.2])
def test_a_known_mean_of_normal_values_is_within_its_interval(draws: np.random.Generator, fraction: float) -> None:
    values = 10 + draws.standard_normal((REPETITIONS, stats.LOOKS[-1]))
    known, misled = looked_at(values, 10, fraction)
    assert misled <= 0.05
    assert known > 0.9 or fraction < 0.05


def rare(draws: np.random.Generator, share: float) -> Values:
    """Draw values that are 0 in all but a share of the seeds, and skewed in these."""
    shape = (REPETITIONS, stats.LOOKS[-1])
    return np.where(draws.random(shape) < share, np.exp(draws.standard_normal(shape)), 0.0)


@pytest.mark.parametrize("fraction", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.5])
def test_a_rare_event_stops_wrongly_in_at_most_1_of_20(
    draws: np.random.Generator, share: float, fraction: float
) -> None:
    assert looked_at(rare(draws, share), share * np.exp(0.5), fraction)[1] <= 0.05


@pytest.mark.parametrize("fraction", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("sigma", [0.5, 1.0, 1.5])
def test_a_skewed_mean_stops_wrongly_in_at_most_1_of_20(
    draws: np.random.Generator, sigma: float, fraction: float
) -> None:
    values = np.exp(sigma * draws.standard_normal((REPETITIONS, stats.LOOKS[-1])))
    known, misled = looked_at(values, np.exp(sigma**2 / 2), fraction)
    assert misled <= 0.05
    # It is no empty promise.
    assert known > 0.9 or (sigma, fraction) not in {(0.5, 0.5), (0.5, 1.0), (1.0, 1.0)}


def test_students_interval_alone_stops_wrongly_on_skewed_means(draws: np.random.Generator) -> None:
    values = np.exp(draws.standard_normal((REPETITIONS, 10)))
    half = stats.half_width(values, confidence=1 - stats.LEVEL / len(stats.LOOKS))
    assert (np.abs(values.mean(axis=-1) - np.exp(0.5)) > half).mean() > 0.05


@pytest.mark.parametrize("share", [0.02, 0.07, 0.2, 0.4])
def test_the_bound_on_unseen_events_holds_over_all_looks(draws: np.random.Generator, share: float) -> None:
    has_any = draws.random((REPETITIONS, stats.LOOKS[-1])) < share
    wrong = [~has_any[:, :seeds].any(axis=-1) & (share > stats.max_affected_share(seeds)) for seeds in stats.LOOKS]
    assert np.any(wrong, axis=0).mean() <= 0.05


def test_four_repeated_intervals_of_normal_values_cover_jointly(draws: np.random.Generator) -> None:
    values = 10 + draws.standard_normal((REPETITIONS, stats.LOOKS[-1]))
    bounds = [stats.repeated_interval(values[:, :seeds]) for seeds in stats.LOOKS]
    misses = np.any([(low > 10) | (high < 10) for low, high in bounds], axis=0)
    assert 0.02 <= misses.mean() <= 0.05


def test_looking_again_and_again_at_plain_intervals_misleads(draws: np.random.Generator) -> None:
    values = 10 + draws.standard_normal((REPETITIONS, stats.LOOKS[-1]))
    misses = [
        np.abs(values[:, :seeds].mean(axis=-1) - 10) > stats.half_width(values[:, :seeds], confidence=0.95)
        for seeds in stats.LOOKS
    ]
    assert np.any(misses, axis=0).mean() > 0.1


def test_values_that_do_not_vary_have_no_p_value() -> None:
    assert stats.p_value(np.array([2.0, 2.0, 2.0])) is stats.p_value(np.array([0.0])) is None
