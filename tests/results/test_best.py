"""Marks of the best values on a terminal, and distributions drawn in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from aqmlab.metrics.numbers import NUMBERS
from aqmlab.results import best
from aqmlab.results.figures import charts
from aqmlab.results.figures.terminal import TerminalChart
from aqmlab.ui import console, streams
from conftest import Command

SHORT = ("--users", "60", "--warmup", "1 s", "--duration", "4 s", "--no-figures", "--no-baseline")

CONGESTED = (
    "link.rate=2 Mbit/s",
    "link.device_fifo=0",
    "users.per_side=300",
    "protocol.warmup=2 s",
    "protocol.duration=20 s",
)


def samples(mean: float, *deviations: float) -> Sequence[float]:
    return [mean + deviation for deviation in deviations]


def test_a_value_is_worse_if_students_interval_excludes_the_best() -> None:
    # The differences from the best are 1, 2 and 3 plus the mean's: their standard deviation is 1. With two comparisons
    # and three seeds Student's factor is 6.205, so that 6.205 / sqrt(3) = 3.58 separates the two verdicts.
    values = {
        "best": samples(10.0, 0, 0, 0),
        "similar": samples(13.5, -1, 0, 1),
        "worse": samples(13.7, -1, 0, 1),
    }
    assert best.verdicts(values, NUMBERS["loss"]) == {
        "best": best.BEST,
        "similar": best.SIMILAR,
        "worse": best.WORSE,
    }
    assert best.verdicts(values, NUMBERS["loss"], looks=4) == {}, "further looks need wider intervals"


def test_the_best_throughput_is_the_highest() -> None:
    values = {"slow": samples(1.0, -0.1, 0, 0.1), "fast": samples(2.0, 0.1, 0, -0.1)}
    assert NUMBERS["throughput"].better == "higher"
    assert best.verdicts(values, NUMBERS["throughput"]) == {"fast": best.BEST, "slow": best.WORSE}


@pytest.mark.parametrize(
    "values",
    [
        {"pi": [1.0, 1.1, 0.9]},
        {"pi": [1.0, 1.1], "red": [5.0, 5.2]},
        {"pi": [1.0, 1.1, 0.9], "red": [1.0, 1.1, 0.9]},
        {"pi": [1.0, 5.1, 0.9], "red": [1.2, 0.1, 3.9]},
    ],
    ids=["one scheme", "two seeds", "equal", "not distinguishable"],
)
def test_without_a_difference_there_are_no_marks(values: dict[str, Sequence[float]]) -> None:
    assert best.verdicts(values, NUMBERS["loss"]) == {}


def test_a_number_without_a_better_direction_has_no_marks() -> None:
    (number,) = (number for number in NUMBERS.values() if number.name == "arrivals")
    assert number.better is None
    assert best.verdicts({"pi": [1.0, 1.1, 0.9], "red": [5.0, 5.1, 4.9]}, number) == {}


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_only_a_terminal_has_marks(aqmlab: Command, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if command == "compare":
        settings = [word for change in CONGESTED for word in ("--set", change)]
        options = ["--seeds", "3", "--no-figures", "--no-baseline"]
        words = ["compare", *settings, *options, "droptail:limit=200", "droptail:limit=4"]
    else:
        Path("grid.toml").write_text(
            f"set = {list(CONGESTED)}\n"
            'schemes = ["droptail:limit=200", "droptail:limit=4"]\naxes = { "link.delay" = ["1 ms", "20 ms"] }\n'
        )
        words = ["sweep", "grid.toml", "--seeds", "3"]
    plain = aqmlab(*words).out
    assert not set("●○\x1b") & set(plain)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    terminal = aqmlab(*words).out
    assert re.search(r"● marks the best mean", terminal)
    marked = re.sub(r"\x1b\[[\d;]*m", "", terminal)
    assert re.search(r"●\N{NO-BREAK SPACE}[\d.]+", marked)
    monkeypatch.setenv("NO_COLOR", "1")
    without_colours = aqmlab(*words).out
    assert "●" in without_colours
    assert not re.search(r"\x1b\[[\d;]*3\d[;m]", without_colours)


def test_marks_have_ascii_replacements() -> None:
    assert all(mark in streams._ASCII for mark in best.MARKS.values())
    assert len({streams._ASCII[mark] for mark in best.MARKS.values()}) == 2


def chart_rows(chart: charts.Lines, curves: dict[str, pl.DataFrame], width: int = 80) -> list[str]:
    text = console.render_text(TerminalChart(chart, curves), width=width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    return lines


def straight(slope: float) -> pl.DataFrame:
    """Return the distribution of times that are uniform up to 2000 / slope."""
    times = np.linspace(0, 2000, 400)
    return pl.DataFrame({"time_ms": times, "fraction": (slope * times / 2000).clip(0, 1)})


@pytest.mark.parametrize("width", [80, 120])
def test_letters_stand_on_their_lines_in_the_terminal(width: int) -> None:
    lines = chart_rows(charts.CDF, {"even": straight(1)}, width)
    heights = {float(line.split("|")[0]) for line in lines if "|" in line and "a" in line}
    assert heights == {10.0, 30.0, 50.0, 70.0, 90.0}
    assert any(re.match(r"\s*\| 0 +.*1,000 +.*2,000", line) for line in lines)
    assert lines[0] == "requests answered within it, %, by response time, ms"
    assert lines[-1].split() == ["a", "even"]


def test_lines_of_several_schemes_have_letters_of_their_own() -> None:
    lines = chart_rows(charts.CDF, {"slow": straight(1), "fast": straight(2)})
    rows = [line.split("|", 1) for line in lines if "|" in line]
    heights = {letter: {float(label) for label, drawn in rows if letter in drawn} for letter in "ab"}
    assert heights == {"a": {5.0, 25.0, 45.0, 65.0, 85.0}, "b": {30.0, 70.0, 95.0}}
    assert [sum(drawn.count(letter) for _, drawn in rows) for letter in "ab"] == [5, 5]


def test_the_logarithmic_chart_labels_powers_of_ten() -> None:
    times = np.geomspace(10, 100_000, 200)
    pareto = pl.DataFrame({"time_ms": times, "fraction": 1 - (times / 10) ** -1.0})
    lines = chart_rows(charts.CCDF, {"pareto": pareto})
    labels = [line.split("|")[0].strip() for line in lines if "|" in line]
    assert [label for label in labels if label and not label.startswith("-")] == [
        "100",
        "10",
        "1",
        "0.1",
        "0.01",
        "0.001",
    ]


def test_compare_and_run_draw_when_asked(aqmlab: Command) -> None:
    compared = ["compare", *SHORT, "--seeds", "1", "pi"]
    plain = aqmlab(*compared).out
    drawn = aqmlab(*compared, "--draw", "cdf, ccdf").out
    assert drawn.startswith(plain.rstrip("\n"))
    assert "requests answered within it, %" in drawn
    assert "requests that take longer, %" in drawn
    assert "\x1b" not in drawn
    Path("spec.toml").write_text(
        'users.per_side = 60\nprotocol = { warmup = "1 s", duration = "4 s" }\nqueue.pi = {}\n'
    )
    assert "  a  pi" in aqmlab("run", "spec.toml", "--draw", "cdf").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--draw", "pdf"), "--draw: must be cdf or ccdf, got 'pdf'"),
        (("--draw", "cdf", "--json"), "--draw: cannot be with --json"),
    ],
)
def test_a_wrong_draw_is_refused_before_anything_runs(aqmlab: Command, words: tuple[str, ...], message: str) -> None:
    outcome = aqmlab("compare", *SHORT, "pi", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert not outcome.out
