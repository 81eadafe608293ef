"""Time series of flows and their figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

import aqmlab as lab
from custom_controls import bulk

PERIOD_S = 0.1


def table(*rates_mbps: list[float], start_s: float = 1.0) -> pl.DataFrame:
    """Return a table of flows whose rates are given for each second; the client of each sends a little too."""
    frames = []
    for flow, rates in enumerate(rates_mbps):
        steps = [1e6 / 8 * PERIOD_S * rate for rate in rates for _ in range(10)]
        delivered = pl.Series([0.0, *steps]).cum_sum().cast(pl.UInt64)
        data = pl.DataFrame({"delivered_bytes": delivered}).with_columns(
            time_s=start_s + PERIOD_S * pl.int_range(pl.len()),
            source=1,
            flow=flow,
            connection=flow + 1,
            direction=1,
            control=pl.lit("reno"),
            cwnd_bytes=14_480,
            ssthresh_bytes=pl.lit(None, pl.Float64),
            srtt_ms=50.0,
            pacing_rate_mbps=pl.lit(None, pl.Float64),
        )
        client = data.with_columns(direction=0, delivered_bytes=pl.lit(100, pl.UInt64))
        frames += [data, client]
    return pl.concat(frames)


def test_rates_and_shares_are_those_of_the_bytes_delivered() -> None:
    rates = lab.flows.rates(table([3.0] * 4, [1.0] * 4))
    assert rates["time_s"].unique().sort().to_list() == pytest.approx([1.5, 2.5, 3.5, 4.5])
    first, second = (rates.filter(pl.col("label") == label) for label in ("reno 1", "reno 2"))
    assert first["rate_mbps"].to_list() == pytest.approx([3.0] * 4)
    assert second["share"].to_list() == pytest.approx([0.25] * 4)


def test_the_jain_index_is_that_of_its_definition() -> None:
    index = lab.flows.jain(table([3.0] * 3, [1.0] * 3))
    assert index["jain"].to_list() == pytest.approx([(3 + 1) ** 2 / (2 * (9 + 1))] * 3)
    assert lab.flows.jain(table([2.0] * 3, [2.0] * 3))["jain"].to_list() == pytest.approx([1.0] * 3)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([5.0] * 4 + [3.0] * 4, [1.0] * 4 + [3.0] * 4, 4.0),
        ([3.0] * 8, [3.0] * 8, 0.0),
        ([3.0] * 4 + [5.0] * 4, [3.0] * 4 + [1.0] * 4, None),
    ],
    ids=["after four seconds", "at once", "never"],
)
def test_flows_converge_when_their_rates_stay_fair(
    first: list[float], second: list[float], expected: float | None
) -> None:
    assert lab.flows.time_to_converge_s(table(first, second)) == expected


def test_convergence_is_counted_from_the_last_new_flow() -> None:
    late = table([1.0] * 2 + [3.0] * 6, start_s=5.0).with_columns(flow=7, connection=8)
    assert lab.flows.time_to_converge_s(pl.concat([table([5.0] * 6 + [3.0] * 6), late])) == 2.0


def test_a_table_without_rows_has_no_rates() -> None:
    empty = table([1.0]).clear()
    assert lab.flows.rates(empty).is_empty()
    assert lab.flows.time_to_converge_s(empty) is None


def test_a_window_has_two_periods_at_least(axis: Axes) -> None:
    with pytest.raises(ValueError, match=r"window_s: must be at least twice the period of the table, 0\.2 s, got 0\.1"):
        lab.plot.flows(table([1.0, 1.0]), axis, show="rate", window_s=0.1)


def test_each_flow_has_a_line_with_its_control_as_label(axis: Axes, tmp_path: Path) -> None:
    mix = [{"source": "b", "share": 1.0, "congestion": "reno"}]
    result = lab.run(bulk("cubic", mix=mix, sources=("a", "b")), out=tmp_path)
    lab.plot.flows(result.flows, axis, show="cwnd")
    legend = axis.get_legend()
    assert legend is not None
    assert sorted(text.get_text() for text in legend.get_texts()) == ["cubic 1", "cubic 2", "reno 1", "reno 2"]
    (line,) = (line for line in axis.get_lines() if line.get_label() == "reno 1")
    # The second source's first flow; its server sends from side 1.
    own = result.flows.filter((pl.col("source") == 2) & (pl.col("flow") == 0) & (pl.col("direction") == 1))
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx((own["cwnd_bytes"] / 1000).to_list())
    assert axis.get_ylabel() == "congestion window, kB"


def test_the_figure_of_fairness_says_when_flows_converge(axis: Axes) -> None:
    lab.plot.flows(table([5.0] * 4 + [3.0] * 4, [1.0] * 4 + [3.0] * 4), axis, show="jain")
    legend = axis.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["converged after 4 s"]


def test_a_value_that_no_flow_has_is_refused(axis: Axes) -> None:
    with pytest.raises(ValueError, match="show: the flows must have a pacing rate, got none"):
        lab.plot.flows(table([1.0, 1.0]), axis, show="pacing")
    with pytest.raises(ValueError, match=r"show: must be one of cwnd, in_flight, .*, got 'window'"):
        lab.plot.flows(table([1.0, 1.0]), axis, show="window")
