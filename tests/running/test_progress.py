from __future__ import annotations

import time
from dataclasses import replace

import pytest
import rich.console

import aqmlab as lab
from aqmlab.cells.cell import Cell, cells_of, work
from aqmlab.running import progress
from aqmlab.running.progress import SweepProgress, names
from aqmlab.running.sweep import sweep
from aqmlab.store.store import Store
from aqmlab.ui import messages


@pytest.fixture
def cells(small_cell: Cell) -> list[Cell]:
    return [replace(small_cell, seed=seed) for seed in range(1, 5)]


class Clock:
    """A clock that is put forward by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def test_cells_in_the_store_are_one_line(cells: list[Cell], store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    sweep(cells[:3], store)
    with messages.logging_to_stderr(), SweepProgress(cells, store.find(cells)) as watch:
        sweep(cells, store, watch=watch)
    first, last = capsys.readouterr().err.splitlines()
    assert first == "4 cells, 3 of them in the store"
    assert last.startswith("1 run in ")
    with messages.logging_to_stderr(), SweepProgress(cells, store.find(cells)) as watch:
        sweep(cells, store, watch=watch)
    assert capsys.readouterr().err == "4 cells, in the store\n"


def test_a_log_has_a_line_a_minute_with_progress_and_time_left(
    cells: list[Cell], store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    with messages.logging_to_stderr(), SweepProgress(cells, store.find(cells)) as watch:
        for cell in cells:
            for now in range(1, 71):
                clock.now += 1
                watch(cell, now, 70)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "4 cells",
        "0 of 4 run, 1 x real time, 1 min 0 s elapsed, 3 min 40 s left",
        "1 of 4 run, 1 x real time, 2 min 0 s elapsed, 2 min 40 s left",
        "2 of 4 run, 1 x real time, 3 min 0 s elapsed, 1 min 40 s left",
        "3 of 4 run, 1 x real time, 4 min 0 s elapsed, 40 s left",
        "4 run in 4 min 40 s",
    ]


def test_a_terminal_shows_the_whole_and_what_runs(
    cells: list[Cell], store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "160")
    clock = Clock(monkeypatch)
    with messages.logging_to_stderr(), SweepProgress(cells, store.find(cells)) as watch:
        clock.now += 30
        watch(cells[0], 70, 70)
        watch(cells[1], 35, 70)
        watch._progress.refresh()
    stderr = capsys.readouterr().err
    assert "1 of 4 run, 4 x real time, 30 s elapsed, 50 s left" in stderr
    assert "35/70 s" in stderr
    assert "--:--" not in stderr


def test_what_failed_is_said_and_counts_as_over_in_what_is_left(
    cells: list[Cell], store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "160")
    clock = Clock(monkeypatch)
    with messages.logging_to_stderr(), SweepProgress(cells, store.find(cells)) as watch:
        clock.now += 30
        watch(cells[0], 70, 70)
        watch.failed(cells[1], "took longer than 20 s")
        for cell, now in zip(cells[2:], (35, 14), strict=True):
            watch(cell, now, 70)
        capsys.readouterr()
        watch._progress.refresh()
        stderr = capsys.readouterr().err
        # 189 of 280 s in 30 s.
        assert "1 of 4 run, 1 failed, 6 x real time, 30 s elapsed, 14 s left" in stderr
        # A line for each that runs, and none for those that are over.
        assert [stderr.count(f"seed {cell.seed}") for cell in cells] == [0, 0, 1, 1]
        assert "35/70 s" in stderr
        assert "14/70 s" in stderr
        for cell in cells[2:]:
            watch(cell, 70, 70)
    assert "3 run, 1 failed in 30 s" in capsys.readouterr().err


def test_what_is_left_is_judged_by_work_and_not_by_seconds(
    small: lab.Experiment, store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = small.model_copy(update={"link": lab.Link(rate="1 Gbit/s"), "users": lab.Users(per_side=3600)})
    short, long = (cells_of(experiment, [1])[0] for experiment in (small, large))
    # 400 users ask for more than 2 Mbit/s; 3600 for ten times what is sent there.
    assert work(long) / work(short) == pytest.approx(3600 * 0.0106 / 2, rel=0.01)
    # On the uncongested network users ask for no more.
    assert work(cells_of(large, [1], uncongested=True)[0]) == work(long)
    clock = Clock(monkeypatch)
    with messages.logging_to_stderr(), SweepProgress([short, long], {}) as watch:
        clock.now += 60
        watch(short, 70, 70)
    # A minute for a twentieth of it.
    assert "1 of 2 run, 1 x real time, 1 min 0 s elapsed, 19 min 2 s left" in capsys.readouterr().err


def test_a_name_is_shown_as_it_is_typed(
    small_cell: Cell, store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "160")
    odd = replace(small_cell, label="law:name=[/red]")
    with messages.logging_to_stderr(), SweepProgress([odd], store.find([odd])) as watch:
        watch(odd, 35, 70)
        watch._progress.refresh()
    assert "law:name=[/red]" in capsys.readouterr().err


def test_equal_names_are_extended_by_their_differences(small: lab.Experiment) -> None:
    variants = [
        small.model_copy(update={"link": lab.Link(rate="2 Mbit/s", delay=delay)}) for delay in ("1 ms", "20 ms")
    ]
    cells = [cells_of(variant, [1], label="pi")[0] for variant in variants]
    other_seed = replace(cells[0], seed=2)
    cell_names = names([*cells, other_seed])
    assert cell_names[cells[0].key] == f'{cells[0]} (link.delay="1 ms")'
    assert cell_names[cells[1].key] == f'{cells[1]} (link.delay="20 ms")'
    assert cell_names[other_seed.key] == str(other_seed)


def test_from_python_progress_is_heard_too(cells: list[Cell], store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert not messages.logger.handlers
    with SweepProgress(cells[:1], store.find(cells[:1])) as watch:
        sweep(cells[:1], store, watch=watch)
    assert capsys.readouterr().err.startswith("1 cell\n1 run in ")
    assert not messages.logger.handlers
    assert progress.is_interactive() is False


def test_a_notebook_that_asks_for_colours_is_shown_no_bars(
    cells: list[Cell], store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as its kernel does
    with messages.logging_to_stderr(), SweepProgress(cells, store.find(cells)) as watch:
        sweep(cells, store, watch=watch)
    assert "\x1b" not in capsys.readouterr().err
