from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from aqmlab.models.batch_queue import BatchQueue, burst_sizes, exceedance, windows_in_packets

MIXED = np.array([0, 0.5, 0.3, 0, 0, 0.2])

WEB = burst_sizes(np.arange(1, 10_001), np.arange(1, 10_001) ** -2.2)
"""Flows of a heavy-tailed size under the paper's windows."""

bursts = st.lists(st.floats(0, 1), min_size=1, max_size=40).filter(lambda shares: sum(shares) > 1e-3)
loads = st.floats(0, 0.97)


def normalised(shares: list[float]) -> NDArray[np.float64]:
    return np.array([0, *shares]) / sum(shares)


@given(loads, st.integers(0, 60))
def test_single_packets_make_an_mm1_queue(utilisation: float, packets: int) -> None:
    queue = BatchQueue(bursts=np.array([0.0, 1.0]), utilisation=utilisation)
    n = np.arange(packets + 1)
    assert queue.probabilities(packets) == pytest.approx((1 - utilisation) * utilisation**n, rel=1e-9)
    assert queue.above(packets) == pytest.approx(utilisation ** (packets + 1), abs=1e-12)
    assert queue.mean_packets == pytest.approx(utilisation / (1 - utilisation))


@given(st.floats(0, 0.9), st.floats(0.05, 0.9))
def test_geometric_bursts_make_a_queue_whose_tail_is_geometric(utilisation: float, more: float) -> None:
    # X = x with probability (1 - b) b^(x - 1): P(Q = n) = (1 - rho) rho (1 - b) (b + (1 - b) rho)^(n - 1)
    x = np.arange(1, 600)
    shares = (1 - more) * more ** (x - 1)
    queue = BatchQueue(bursts=normalised(list(shares)), utilisation=utilisation)
    n = np.arange(1, 40)
    ratio = more + (1 - more) * utilisation
    expected = (1 - utilisation) * utilisation * (1 - more) * ratio ** (n - 1.0)
    assert queue.probabilities(39)[1:] == pytest.approx(expected, rel=1e-9)


@given(bursts, st.floats(0.01, 0.97))
def test_the_distribution_sums_to_one_with_the_formulas_mean(shares: list[float], utilisation: float) -> None:
    queue = BatchQueue(bursts=normalised(shares), utilisation=utilisation)
    found = queue.distribution(tolerance=1e-12)
    assert (found["probability"] >= 0).all()
    assert found["probability"].sum() == pytest.approx(1, abs=2e-12)
    assert found["probability"] @ found["packets"] == pytest.approx(queue.mean_packets, rel=1e-6)
    assert found["probability"][0] == pytest.approx(1 - utilisation)


@given(bursts, st.floats(0.01, 0.97), st.sampled_from([1e-2, 1e-6, 1e-11]))
def test_the_distribution_is_cut_at_the_tolerance(shares: list[float], utilisation: float, tolerance: float) -> None:
    queue = BatchQueue(bursts=normalised(shares), utilisation=utilisation)
    found = queue.distribution(tolerance=tolerance)
    assert 1 - found["probability"].sum() <= tolerance * (1 + 1e-9) + 1e-14
    assert len(found) == 1 or found["above"][-2] > tolerance
    for packets in (0, len(found) // 2, len(found) - 1):
        assert queue.above(packets) == pytest.approx(found["above"][packets], abs=1e-13)


@given(bursts, st.floats(0.01, 0.97))
def test_every_state_is_left_as_often_as_it_is_entered(shares: list[float], utilisation: float) -> None:
    # The balance of each state, from the rates of the chain: lambda = rho / E[X] and mu = 1.
    size = normalised(shares)
    arrivals = utilisation / (size @ np.arange(len(size)))
    p = BatchQueue(bursts=size, utilisation=utilisation).probabilities(80)
    for n in range(80):
        entered = p[n + 1] + arrivals * sum(p[n - x] * size[x] for x in range(1, min(n, len(size) - 1) + 1))
        left = p[n] * (arrivals + (n > 0))
        assert entered == pytest.approx(left, rel=1e-9, abs=1e-15)


def simulated(bursts: NDArray[np.float64], utilisation: float, seed: int, events: int = 20_000) -> NDArray[np.float64]:
    """The share of time with 0, 1, ... 59 packets: one event after another, half of them to forget the empty start."""
    rng = np.random.default_rng(seed)
    arrivals = utilisation / (bursts @ np.arange(len(bursts)))
    size = rng.choice(len(bursts), events, p=bursts)
    wait, which = rng.exponential(size=events), rng.random(events)
    time, queue = np.zeros(60), 0
    for i in range(events):
        rate = arrivals + (queue > 0)
        if i >= events // 2:
            time[min(queue, 59)] += wait[i] / rate
        queue += size[i] if which[i] < arrivals / rate else -1
    return np.asarray(time / time.sum())


def test_an_event_simulation_agrees_within_its_interval() -> None:
    model = BatchQueue(bursts=MIXED, utilisation=0.7)
    runs = np.array([simulated(MIXED, 0.7, seed) for seed in range(30)])
    measures = {
        "mean": (runs @ np.arange(60), model.mean_packets),
        "empty": (runs[:, 0], 0.3),
        "above 5": (runs[:, 6:].sum(axis=1), model.above(5)),
        "above 20": (runs[:, 21:].sum(axis=1), model.above(20)),
    }
    for name, (values, expected) in measures.items():
        # 99.9 %, as there are four of them
        half = stats.t.ppf(0.9995, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - expected) < half, name
        assert half < 0.2 * expected or name == "above 20", "a test that could not fail proves nothing"


@pytest.mark.parametrize(
    ("flow", "window", "initial", "sent"),
    [
        (1, 44, 2, [1]),
        (2, 44, 2, [2]),
        (3, 44, 2, [2, 1]),
        (7, 44, 2, [2, 4, 1]),
        (14, 44, 2, [2, 4, 8]),
        (7, 44, 1, [1, 2, 4]),
        (20, 5, 2, [2, 4, 5, 5, 4]),
        (21, 5, 2, [2, 4, 5, 5, 5]),
        (100, 11, 2, [2, 4, 8, *[11] * 7, 9]),
        (9, 1, 2, [1] * 9),
        (5, 4, 4, [4, 1]),
        (120, 44, 2, [2, 4, 8, 16, 32, 44, 14]),
    ],
)
def test_a_flow_is_sent_in_the_bursts_of_slow_start(flow: int, window: int, initial: int, sent: list[int]) -> None:
    expected = np.bincount(sent, minlength=window + 1) / len(sent)
    assert burst_sizes([flow], windows={window: 1.0}, initial_window=initial) == pytest.approx(expected)


def test_bursts_of_flows_and_windows_are_weighted() -> None:
    # 1 packet: one burst. 7 packets: 2, 4, 1 with a window of 8, and 2, 2, 2, 1 with one of 2.
    found = burst_sizes([1, 7], [3, 1], windows={8: 0.5, 2: 0.5})
    ones, twos, fours = 3 + 0.5 + 0.5, 0.5 + 3 * 0.5, 0.5
    expected = np.array([0, ones, twos, 0, fours, 0, 0, 0, 0]) / (ones + twos + fours)
    assert found == pytest.approx(expected)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=20), st.integers(1, 60), st.integers(1, 20))
def test_bursts_carry_all_packets_of_a_flow(flows: list[int], window: int, initial: int) -> None:
    found = burst_sizes(flows, windows={window: 1.0}, initial_window=initial)
    assert found[0] == 0
    assert found.sum() == pytest.approx(1)

    def bursts_of(flow: int) -> int:
        number, size = 0, min(initial, window)
        while flow > 0 and size < window:
            number, flow, size = number + 1, flow - size, min(2 * size, window)
        return number + max(0, -(-flow // window))

    assert found @ np.arange(window + 1) == pytest.approx(sum(flows) / sum(map(bursts_of, flows)))


def test_the_queue_is_longest_where_large_bursts_are_likeliest() -> None:
    # What figure 7 of the paper shows: not monotone in the size of the flows.
    means = [BatchQueue(bursts=burst_sizes([flow]), utilisation=0.8).mean_packets for flow in range(1, 71)]
    falls = [flow for flow in range(1, 70) if means[flow] < means[flow - 1]]
    assert {2, 6, 14, 30} <= set(falls), "a packet more than slow start's bursts makes a small burst"
    assert all(mean < 50 for mean in means)


def test_the_target_is_exceeded_more_often_at_higher_utilisation() -> None:
    found = exceedance(WEB, [0.0, 0.5, 0.8, 0.9, 0.98], target=24)
    assert found["above"][0] == 0
    assert found["above"].is_sorted()
    assert found["above"].n_unique() == 5
    at_once = BatchQueue(bursts=WEB, utilisation=0.9).distribution().filter(pl.col("packets") == 24)["above"].item()
    assert found["above"][3] == pytest.approx(at_once)


def test_windows_are_whole_segments() -> None:
    assert windows_in_packets(segment_bytes=1000) == {8: 0.20, 16: 0.35, 65: 0.45}
    with pytest.raises(ValueError, match=r"^segment_bytes: must be at least 1 and fit into every window, got 9000$"):
        windows_in_packets(segment_bytes=9000)


@pytest.mark.parametrize("utilisation", [1.0, 1.5, -0.1, np.nan])
def test_a_queue_without_equilibrium_is_refused(utilisation: float) -> None:
    with pytest.raises(ValueError, match=r"^utilisation: must be at least 0 and below 1, got "):
        BatchQueue(bursts=MIXED, utilisation=utilisation)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([0, 0.5, 0.4], r"bursts: must add up to 1, got 0\.9"),
        ([0.1, 0.9], "bursts: must be probabilities of 0, 1, 2, ... packets, that of 0 being 0"),
        ([0, 2, -1], "bursts: must be probabilities of 0, 1, 2, ... packets, that of 0 being 0"),
        ([0, np.nan], "bursts: must be probabilities of 0, 1, 2, ... packets, that of 0 being 0"),
        ([0], "bursts: must be probabilities of 0, 1, 2, ... packets, that of 0 being 0"),
    ],
)
def test_what_is_no_distribution_of_bursts_is_refused(sizes: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        BatchQueue(bursts=np.array(sizes, dtype=float), utilisation=0.5)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"flows": []}, "flows"),
        ({"flows": [0]}, "flows"),
        ({"flows": [1.5]}, "flows"),
        ({"flows": [np.inf]}, "flows"),
        ({"flows": [1, 2], "shares": [1]}, "shares"),
        ({"flows": [1, 2], "shares": [1, -1]}, "shares"),
        ({"flows": [1], "shares": [0]}, "shares"),
        ({"flows": [1], "windows": {}}, "windows"),
        ({"flows": [1], "windows": {0: 1.0}}, "windows"),
        ({"flows": [1], "windows": {8: 0.0}}, "windows"),
        ({"flows": [1], "initial_window": 0}, "initial_window"),
    ],
)
def test_impossible_flows_are_refused_in_one_line(arguments: dict[str, object], field: str) -> None:
    with pytest.raises(ValueError, match=rf"^{field}: must be .*$"):
        burst_sizes(**arguments)  # type: ignore[arg-type]


def test_impossible_levels_and_tolerances_are_refused() -> None:
    queue = BatchQueue(bursts=MIXED, utilisation=0.5)
    with pytest.raises(ValueError, match=r"^packets: must be at least 0, got -1$"):
        queue.above(-1)
    for tolerance in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match=r"^tolerance: must be at least 1e-12 and below 1, got "):
            queue.distribution(tolerance=tolerance)
