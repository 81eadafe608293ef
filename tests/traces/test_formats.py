"""Traces in each format: what the files say is kept by every conversion."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import cells_of
from aqmlab.traces import formats
from aqmlab.traces.trace import OPPORTUNITY_BITS, Trace, from_durations, from_opportunities, opportunities
from conftest import Command

WALK = Path(__file__).parents[2] / "examples" / "walk.csv"

LENGTHS = st.lists(st.integers(min_value=1, max_value=400), min_size=1, max_size=20)
"""The times that rows last, in milliseconds."""


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    lengths = draw(LENGTHS)
    rate = st.one_of(st.just(0), st.integers(min_value=1, max_value=200))
    mbps = draw(st.lists(rate, min_size=len(lengths), max_size=len(lengths)).filter(any))
    return from_durations([length / 1000 for length in lengths], mbps)


@given(traces())
def test_opportunities_send_what_the_rates_send(trace: Trace) -> None:
    lines = opportunities(trace)
    assert lines == sorted(lines)
    assert lines[-1] == pytest.approx(1000 * trace.period_s, abs=1)
    # Half an opportunity is rounded away at most, and one is there in any case.
    bits = 1e6 * trace.mean_mbps * trace.period_s
    assert abs(len(lines) * OPPORTUNITY_BITS - bits) <= max(OPPORTUNITY_BITS / 2, OPPORTUNITY_BITS - bits) + 1
    # All but the last, which ends the period, come within a millisecond of their bits.
    share = bits / (len(lines) * OPPORTUNITY_BITS)
    for number, line in enumerate(lines[:-1], start=1):
        before, after = trace.megabits_until(np.array([line / 1000 - 0.001, line / 1000])) * 1e6
        assert before - 1 <= number * OPPORTUNITY_BITS * share <= after + 1


@given(LENGTHS, st.integers(min_value=1, max_value=500))
def test_bins_have_the_opportunities_of_the_file(gaps: list[int], bin_ms: int) -> None:
    lines = [int(line) for line in np.cumsum(gaps)]
    trace = from_opportunities(lines, bin_ms / 1000)
    assert trace.period_s == pytest.approx(lines[-1] / 1000)
    assert 1e6 * trace.mean_mbps * trace.period_s == pytest.approx(
        len(lines) * OPPORTUNITY_BITS, abs=1 + trace.period_s
    )
    assert min(trace.mbps) >= 0


@pytest.mark.parametrize(
    ("bin_s", "mbps"), [(0.002, (18.048, 6.016)), (0.004, (12.032, 12.032)), (9, (12.032, 12.032))]
)
def test_the_bins_of_a_trace_by_hand(bin_s: float, mbps: tuple[float, float]) -> None:
    assert from_opportunities([1, 2, 2, 4], bin_s) == Trace((0.0, 0.002), mbps)


@given(traces())
def test_rates_are_read_as_they_were_written(trace: Trace) -> None:
    # A fixture's directory would be shared by all examples.
    with tempfile.TemporaryDirectory() as directory:
        for suffix in formats.RATES:
            file = Path(directory) / f"rates{suffix}"
            formats.write(trace, file)
            back = formats.read(file)
            assert back.seconds == pytest.approx(trace.seconds)
            assert back.mbps == pytest.approx(trace.mbps)
            assert back.mean_mbps == pytest.approx(trace.mean_mbps)


def test_the_period_and_the_mean_are_those_of_the_engine() -> None:
    trace = formats.read(WALK)
    rate = {"trace": {"seconds": trace.seconds, "mbps": trace.mbps}}
    (link,) = _core.Resolved(json.dumps({"link": {"rate": rate}})).links
    assert trace.period_s == 15
    assert trace.mean_mbps == pytest.approx((4 * 40 + 12 + 3.5 * 25 + 3 * 60 + 3 * 40) / 15)
    assert link.rate_bps == pytest.approx(1e6 * trace.mean_mbps, abs=1)


def test_a_list_of_durations_becomes_rates(tmp_path: Path) -> None:
    rows = [
        {"duration_ms": 2000, "bandwidth_kbps": 500, "latency_ms": 20},
        {"duration_ms": 500, "bandwidth_kbps": 1500},
    ]
    (tmp_path / "sabre.json").write_text(json.dumps(rows))
    trace = formats.read(tmp_path / "sabre.json")
    assert trace.period_s == 2.5
    assert trace.mean_mbps == pytest.approx((2 * 0.5 + 0.5 * 1.5) / 2.5)
    assert trace.summary()["median_mbps"] == 0.5


def test_the_command_converts_there_and_back(aqmlab: Command, tmp_path: Path) -> None:
    lines, rates = tmp_path / "walk.trace", tmp_path / "back.csv"
    assert aqmlab("trace", "convert", str(WALK), str(lines)).code == 0
    assert aqmlab("trace", "convert", str(lines), str(rates), "--bin", "500 ms").code == 0
    first, back = formats.read(WALK), formats.read(rates)
    assert back.period_s == first.period_s
    parts = round(first.period_s / 0.5)
    # An opportunity in half a second is 24 kbit/s.
    assert back.means(parts) == pytest.approx(first.means(parts), abs=0.03)


def test_a_converted_trace_runs(aqmlab: Command, tmp_path: Path) -> None:
    assert aqmlab("trace", "convert", str(WALK), str(tmp_path / "walk.trace")).code == 0
    spec = tmp_path / "spec.toml"
    spec.write_text('[link]\noverhead = "4 B"\nrate = { mahimahi = { file = "walk.trace" } }\n[users]\nper_side = 2\n')
    (cell,) = cells_of(lab.Experiment.from_toml(spec), [1])
    assert cell.links[0].rate_bps == pytest.approx(1e6 * formats.read(WALK).mean_mbps, rel=1e-4)


def test_show_draws_a_trace_and_writes_its_rows(aqmlab: Command, tmp_path: Path) -> None:
    figure, table = tmp_path / "walk.svg", tmp_path / "walk.csv"
    outcome = aqmlab("trace", "show", str(WALK), "--figure", str(figure), "--table", str(table))
    assert outcome.code == 0, outcome.err
    drawn = outcome.out.splitlines()
    assert drawn[0].startswith("      60 |")
    assert drawn[0].count("#") == pytest.approx(64 * 3 / 15, abs=1)
    assert "3.33333" in outcome.out
    assert table.read_text().splitlines()[0] == "seconds,mbps"
    assert "mean 37.3 Mbit/s" in figure.read_text()
    summary = json.loads(aqmlab("trace", "show", str(WALK), "--json").out)
    assert (summary["rows"], summary["period_s"], summary["mbps"][2]) == (6, 15, 0)


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        ("a.csv", "seconds,mbps\n0,5\n", ("--bin", "1 s"), "--bin: has no effect: the file has rates"),
        ("a.trace", "1\n2\n", ("--bin", "0 s"), "--bin: must be above 0 s, got 0 s"),
        ("a.trace", "1\n2\n", ("--bin", "5"), '--bin: "5": write a unit'),
        ("a.trace", "1\nx\n", (), "a.trace, line 2: must be a whole number of milliseconds, got 'x'"),
        (
            "a.csv",
            "time,rate\n0,5\n",
            (),
            "a.csv: must have the columns seconds and mbps, and at most delay_ms and loss behind them, got 'time,rate'",
        ),
        ("a.csv", "", (), "a.csv: must have the columns"),
        ("a.json", "[]", (), "a.json: must have a row, got an empty list"),
        ("a.json", "[1]", (), "a.json, row 1: must have numbers as duration_ms and bandwidth_kbps, got 1"),
        ("a.json", '[{"duration_ms": 0, "bandwidth_kbps": 1}]', (), "row 1: must have a duration above 0 ms, got 0"),
        ("a.json", '[{"duration_ms": 9, "bandwidth_kbps": 0}]', (), "a.json: must have a rate above 0"),
        ("a.json", "[", (), "a.json, line 1: is not JSON"),
    ],
)
def test_a_mistake_in_a_trace_is_one_line(
    name: str, content: str, arguments: tuple[str, ...], message: str, aqmlab: Command, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(content)
    outcome = aqmlab("trace", "show", str(file), *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_trace_that_is_too_fast_for_lines_is_refused(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "fast.csv").write_text("seconds,mbps\n0,100000\n1,100000\n")
    outcome = aqmlab("trace", "convert", str(tmp_path / "fast.csv"), str(tmp_path / "fast.trace"))
    assert outcome.code == 2
    assert "fast.trace: must have at most 1,000,000 opportunities in a period, got 16,622,340" in outcome.err
    assert not (tmp_path / "fast.trace").exists()
