"""The latest numbers of each scheme on a terminal while cells run."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from aqmlab.cells.cell import Cell
from aqmlab.running import monitoring
from aqmlab.running.progress import SweepProgress
from aqmlab.running.readings import SchemeReadings
from aqmlab.running.run import run_cell
from aqmlab.running.sweep import sweep
from aqmlab.store.store import Store
from aqmlab.ui import console, messages


def reading(cell: str, scheme: str, *numbers: float | None, now_s: float = 50.0, **other: Any) -> Mapping[str, Any]:
    """Return a reading with these numbers at the longer of two queues."""
    delay, loss, throughput = numbers
    return {
        "cell": cell,
        "scheme": scheme,
        "now_s": now_s,
        "warmup_s": 20.0,
        "queue": {"forward": 1.0, "reverse": 30.0},
        "delay": {"forward": 0.5, "reverse": delay},
        "loss": {"forward": 0.0, "reverse": loss},
        "throughput": {"forward": 1.0, "reverse": throughput},
    } | other


def rows(readings: SchemeReadings) -> list[list[str]]:
    table = readings.table()
    assert table is not None
    return [re.split(r" {2,}", line.strip()) for line in console.render_text(table, width=200).splitlines()[2:]]


def test_a_row_has_the_means_of_a_scheme_at_its_longest_queue() -> None:
    readings = SchemeReadings()
    assert readings.table() is None
    readings(reading("a", "pi", 99.0, 99.0, 99.0))
    readings(reading("a", "pi", 10.0, 1.0, 8.0))
    readings(reading("b", "pi", 20.0, 2.0, 9.0))
    readings(reading("c", "codel", 5.0, None, 7.0))
    assert rows(readings) == [["pi", "2 cells", "15", "1.5", "8.5"], ["codel", "1 cell", "5", "-", "7"]]


def test_a_warm_up_is_named_and_in_no_mean() -> None:
    readings = SchemeReadings()
    readings(reading("a", "pi", 10.0, 1.0, 8.0, now_s=19.0))
    assert rows(readings) == [["pi", "warm-up", "10", "1", "8"]]
    readings(reading("b", "pi", 20.0, 2.0, 9.0))
    assert rows(readings) == [["pi", "1 cell", "20", "2", "9"]]


def test_many_schemes_leave_room_for_the_bars() -> None:
    readings = SchemeReadings()
    for number in range(11):
        readings(reading("a", f"scheme {number}", 1.0, 1.0, 1.0))
    assert len(rows(readings)) == 9
    assert rows(readings)[-1] == ["and 3 further schemes"]


def test_delay_and_loss_of_readings_agree_with_the_results(
    small_cell: Cell, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One reading after the first step, and one of all that follows.
    monkeypatch.setattr(monitoring, "_INTERVAL_S", math.inf)
    readings: list[Mapping[str, Any]] = []
    with monitoring.observed(readings.append):
        result = run_cell(small_cell, store)
    for direction in result.record()["directions"]:
        delays = direction["queue_delay_ms"]
        sojourn_ms = delays["mean"] - delays["device_fifo_mean"]
        assert readings[-1]["delay"][direction["name"]] == pytest.approx(sojourn_ms, rel=0.1)
        assert readings[-1]["loss"][direction["name"]] == pytest.approx(direction["loss_percent"], rel=0.1)
    assert {reading["scheme"] for reading in readings} == {small_cell.label}


def test_a_terminal_shows_the_numbers_of_cells_that_run(
    small_cell: Cell, store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    cells = [replace(small_cell, seed=seed) for seed in (1, 2)]
    with messages.logging_to_stderr(), SweepProgress(cells, {}) as watch:
        sweep(cells, store, watch=watch)
    stderr = capsys.readouterr().err
    assert re.search(rf"{re.escape(small_cell.label)} +2 cells", stderr)
    assert "sojourn time, ms" in stderr
    assert not monitoring._observers, "readings are taken only for the terminal"


def test_a_pipe_takes_no_readings(small_cell: Cell, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    with messages.logging_to_stderr(), SweepProgress([small_cell], {}) as watch:
        assert not monitoring._observers
        sweep([small_cell], store, watch=watch)
    assert "sojourn" not in capsys.readouterr().err


def test_the_state_of_all_cells_is_whole_at_80_columns(
    small_cell: Cell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    long = replace(small_cell, label="ared:min_th=12,max_th=36,w_q=1/8192,ecn=true")
    with messages.logging_to_stderr(), SweepProgress([long], {}) as watch:
        watch(long, 35, 70)
        watch._progress.refresh()
        lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    (whole,) = {re.sub(r"\x1b\[[\d;]*[mAKlh]", "", line).strip() for line in lines if " left" in line}
    assert whole.startswith("all cells")
    assert whole.endswith("s left")
    assert "…" not in whole


def test_no_color_leaves_the_numbers_without_colours(
    small_cell: Cell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert Console(stderr=True).is_terminal
    with messages.logging_to_stderr(), SweepProgress([small_cell], {}) as watch:
        watch._readings(reading("a", "pi", 10.0, 1.0, 8.0))
        watch._progress.refresh()
    assert not re.search(r"\x1b\[[\d;]*3\d[;m]", capsys.readouterr().err), "no foreground colour"
