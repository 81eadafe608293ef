from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from aqmlab import stats
from aqmlab._core import SpecError
from aqmlab.metrics.metrics import COSTS, MEASURES

times = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=300)


def histogram(times_ms: list[float], width: float = 0.01) -> pl.DataFrame:
    """Bins that grow by ``width``; two sizes, so that sums over sizes are needed."""
    bins = np.floor(np.log(times_ms) / np.log1p(width)).astype(int)
    return (
        pl.DataFrame({"bin": bins, "size_low_bytes": [index % 2 for index in range(len(times_ms))]})
        .group_by("bin", "size_low_bytes")
        .agg(count=pl.len().cast(pl.UInt64))
        .with_columns(time_low_ms=(1 + width) ** pl.col("bin"), time_high_ms=(1 + width) ** (pl.col("bin") + 1))
    )


@given(times)
def test_the_cdf_has_the_share_of_times_below_each_edge(times_ms: list[float]) -> None:
    curve = stats.cdf(histogram(times_ms))
    for time, fraction in curve.iter_rows():
        below = np.mean(np.array(times_ms) < time * (1 + 1e-9))
        above = np.mean(np.array(times_ms) < time * (1 - 1e-9))
        assert above - 1e-12 <= fraction <= below + 1e-12
    assert curve["fraction"][-1] == 1
    assert curve["time_ms"].is_sorted()


@given(times, st.floats(0, 1))
def test_a_quantile_is_within_a_bin_of_the_exact_one(times_ms: list[float], fraction: float) -> None:
    (quantile,) = stats.quantiles(histogram(times_ms), [fraction])
    # Where a quantile falls between two times, any value between them is one.
    low = np.quantile(times_ms, fraction, method="inverted_cdf")
    high = np.quantile(times_ms, min(1, fraction + 1 / len(times_ms)), method="inverted_cdf")
    assert low / 1.02 <= quantile <= high * 1.02


@given(times, st.lists(st.floats(0.01, 1e7), min_size=1, max_size=5))
def test_a_share_is_within_a_bin_of_the_exact_one(times_ms: list[float], at_ms: list[float]) -> None:
    exact = np.array(times_ms)
    for time, share in zip(at_ms, stats.shares_within(histogram(times_ms), at_ms), strict=True):
        assert np.mean(exact < time / 1.02) - 1e-12 <= share <= np.mean(exact < time * 1.02) + 1e-12


def record(seed: int, value: float) -> dict[str, object]:
    measures = dict.fromkeys((*MEASURES, *COSTS), value) | {"response_time_ms": {"p50": value, "p99": 2 * value}}
    settings = {name: f"the {name}" for name in stats.SETTINGS}
    parts = {"classes": [], "directions": [{"link": 1, "direction": 0, "utilisation": value}]}
    users = {"users": None, "users_limited_by_percent": None, "pages": None}
    return {**settings, **measures, **parts, **users, "sources": [], "seed": seed, "cell": f"cells/{seed}"}


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=5))
def test_seeds_are_combined_as_numpy_does(values: list[float]) -> None:
    combined = stats.over_seeds([record(seed, value) for seed, value in enumerate(values)])
    assert combined["loss_percent"] == pytest.approx(np.mean(values))
    assert combined["sd"]["loss_percent"] == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-6)
    assert combined["response_time_ms"]["p99"] == pytest.approx(2 * np.mean(values))
    assert combined["sd"]["response_time_ms"]["p99"] == pytest.approx(2 * np.std(values, ddof=1), rel=1e-6, abs=1e-6)
    half = scipy.stats.t(len(values) - 1).ppf(0.975) * scipy.stats.sem(values)
    assert combined["half_width"]["loss_percent"] == pytest.approx(half, rel=1e-6, abs=1e-6)
    assert combined["seeds"] == list(range(len(values)))


def test_seeds_without_a_value_are_left_out_of_the_mean() -> None:
    none = {"response_time_ms": {"p50": None, "p99": None}, "mark_percent": None}
    combined = stats.over_seeds([record(1, 3.0) | none, record(2, 5.0) | {"mark_percent": None}, record(3, 7.0)])
    assert (combined["response_time_ms"]["p50"], combined["sd"]["response_time_ms"]["p50"]) == (
        6,
        pytest.approx(2**0.5),
    )
    assert (combined["mark_percent"], combined["sd"]["mark_percent"]) == (7, None)
    assert (combined["n"]["response_time_ms"]["p99"], combined["n"]["mark_percent"], combined["n"]["loss_percent"]) == (
        2,
        1,
        3,
    )
    nothing = stats.over_seeds([record(1, 3.0) | none, record(2, 3.0) | none])
    assert nothing["response_time_ms"] == nothing["sd"]["response_time_ms"] == {"p50": None, "p99": None}
    assert nothing["n"]["mark_percent"] == 0


@pytest.mark.parametrize("fraction", [-0.1, 1.5, float("nan")])
def test_a_fraction_that_is_none_is_refused_with_its_value(fraction: float) -> None:
    with pytest.raises(SpecError, match=rf"^quantile: must be from 0 to 1, got {fraction}$"):
        stats.quantiles(histogram([1.0, 2.0]), [0.5, fraction])


def test_no_requests_have_no_quantiles_and_no_shares() -> None:
    empty = histogram([1.0]).clear()
    assert all(map(math.isnan, [*stats.quantiles(empty, [0, 0.5, 1]), *stats.shares_within(empty, [1, 2])]))
    assert stats.cdf(empty).is_empty()


def test_one_seed_has_no_standard_deviation() -> None:
    combined = stats.over_seeds([record(1, 3.5)])
    assert combined["loss_percent"] == 3.5
    assert combined["sd"]["loss_percent"] is combined["half_width"]["loss_percent"] is None
    assert combined["sd"]["response_time_ms"] == {"p50": None, "p99": None}


def rounded(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers whose squares are no smaller than the smallest float."""
    return st.floats(low, high).map(lambda value: round(value, 12))


@given(st.lists(st.tuples(rounded(-1e6, 1e6), rounded(0, 1e3)), min_size=2, max_size=8))
def test_pairs_have_students_interval(pairs: list[tuple[float, float]]) -> None:
    first = [record(seed, value) for seed, (value, _) in enumerate(pairs)]
    second = [record(seed, value + difference) for seed, (value, difference) in enumerate(pairs)]
    differences = np.array([(value + difference) - value for value, difference in pairs])
    half = scipy.stats.t(len(pairs) - 1).ppf(0.975) * scipy.stats.sem(differences)
    (paired,) = stats.paired(first, [second])
    assert paired["difference"]["loss_percent"] == pytest.approx(differences.mean())
    if np.ptp(differences) <= 1e-12 * max(abs(value) for pair in pairs for value in (pair[0], sum(pair))):
        assert paired["low"]["loss_percent"] is paired["p"]["loss_percent"] is None
        return
    assert paired["low"]["loss_percent"] == pytest.approx(differences.mean() - half)
    assert paired["high"]["response_time_ms"]["p99"] == pytest.approx(2 * (differences.mean() + half), abs=1e-6)


def test_an_interval_stays_within_the_possible_values() -> None:
    shares = [0.4, 0.99, 1.0]
    free, bounded = (stats.interval(shares, **options).row(0, named=True) for options in ({}, {"upper_bound": 1.0}))
    assert free["high"] > 1.0
    assert (bounded["mean"], bounded["low"], bounded["high"]) == (free["mean"], free["low"], 1.0)
    # Student's interval of 1 ms and 100 ms begins below 0 ms.
    assert stats.interval([1.0, 100.0])["low"].item() == 0.0


def test_a_pair_without_a_value_leaves_none() -> None:
    first = [record(1, 3.0), record(2, 4.0)]
    second = [record(1, 3.5), record(2, 4.5) | {"loss_percent": None}]
    (paired,) = stats.paired(first, [second])
    assert paired["difference"]["loss_percent"] is paired["low"]["loss_percent"] is None
    assert paired["difference"]["utilisation"] == 0.5


def test_parts_are_combined_one_by_one_and_keep_their_names() -> None:
    sources = [[{"name": "video", "kind": "on_off", "goodput_mbps": mbps, "datagrams": None}] for mbps in (1.0, 4.0)]
    combined = stats.over_seeds([record(seed, seed) | {"sources": sources[seed - 1]} for seed in (1, 2)])
    assert combined["sources"] == [{"name": "video", "kind": "on_off", "goodput_mbps": 2.5, "datagrams": None}]
    assert combined["directions"] == [{"link": 1, "direction": 0, "utilisation": 1.5}]
    assert combined["sd"]["sources"][0]["goodput_mbps"] == pytest.approx(np.std([1, 4], ddof=1))


def test_classes_of_two_disciplines_have_no_difference() -> None:
    dual = {"classes": [{"name": name, "packets": 3} for name in ("L4S", "Classic")]}
    (paired,) = stats.paired([record(1, 1.0), record(2, 2.0)], [[record(1, 1.0) | dual, record(2, 2.0) | dual]])
    assert paired["difference"]["classes"] == []


def test_a_seed_with_nothing_to_measure_is_left_out() -> None:
    records = [record(1, 1.0) | {"sources": [{"name": "web", "pages": None}]}]
    records.append(record(2, 1.0) | {"sources": [{"name": "web", "pages": {"load": 4.0}}]})
    for order in (records, records[::-1]):
        combined = stats.over_seeds(order)
        assert combined["sources"] == [{"name": "web", "pages": {"load": 4.0}}]
        assert combined["n"]["sources"] == [{"name": "web", "pages": {"load": 1}}]
