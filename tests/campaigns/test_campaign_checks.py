"""Cells of campaigns and searches whose numbers do not fit together are flagged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab
from aqmlab.campaigns import campaign as campaigns
from aqmlab.cells.cell import cells_of
from aqmlab.store.store import Store
from conftest import Command
from fixtures.campaigns import TINY


def test_the_uncongested_network_is_run_once_for_all_disciplines(tmp_path: Path) -> None:
    axes: dict[str, Any] = {"link.delay": ["5 ms", "20 ms"], "queue.pi.q_ref": [10, 20]}
    grid = lab.Grid(set=TINY, schemes=["droptail", "pi:ecn=true"], axes=axes, baseline=True)
    planned = campaigns.plan(grid, [1], {})
    baseline_cells = [planned_cell for planned_cell in planned if planned_cell.cell.signal == "none"]
    assert [planned_cell.point for planned_cell in baseline_cells] == [
        {"scheme": "uncongested", "link.delay": delay} for delay in axes["link.delay"]
    ]
    assert len(planned) == 2 + 2 * 3
    # It is that of a comparison.
    experiment = lab.Experiment.from_toml(None, changes=[*TINY, "link.delay=5 ms"])
    assert baseline_cells[0].cell.key == cells_of(experiment, [1], uncongested=True)[0].key


def test_a_cell_that_is_not_steady_is_flagged_by_the_command(aqmlab: Command, tmp_path: Path) -> None:
    bulk = '[{bulk = {flows = 1, direction = "upload", start = "12 s"}}]'
    changes = ["link.rate=5 Mbit/s", "users.per_side=5", "protocol.warmup=5 s", "protocol.duration=20 s"]
    steady = json.dumps([*changes, f"sources={bulk.replace('12 s', '0 s')}"])
    (tmp_path / "steady.toml").write_text(f"set = {steady}\n")
    (tmp_path / "grid.toml").write_text(f"set = {json.dumps([*changes, f'sources={bulk}'])}\n")
    assert "Check" not in aqmlab("sweep", "steady.toml", "--seeds", "1").out
    outcome = aqmlab("sweep", "grid.toml", "--seeds", "2", "--table", "cells.csv")
    assert (
        "Check: the beginning of the measured window moves the throughput by more than 10 % (MSER-5):"
        " the warm-up or the window is too short (2 of 2 cells).\n"
    ) in outcome.out
    assert pl.read_csv("cells.csv")["unmet"].to_list() == ["steady"] * 2
    notes = json.loads(aqmlab("sweep", "grid.toml", "--seeds", "2", "--json").out)["notes"]
    assert len([note for note in notes if note.startswith("Check:")]) == 1
    # The store's list has the failed checks too, with an index and without.
    for _ in range(2):
        assert sorted(Store("results").cells()["unmet"]) == ["", "steady", "steady"]
        Store("results").compact()


def test_beside_the_uncongested_network_users_cycles_are_checked(tmp_path: Path) -> None:
    # Users wait for longer than the window is.
    changes = ["link.rate=2 Mbit/s", "users.per_side=400", "protocol.warmup=0 s", "protocol.duration=30 s"]
    grid = lab.Grid(set=changes, schemes=["droptail", "pi"])
    assert [note for note in lab.sweep(grid, seeds=[1], out=tmp_path).notes if note.startswith("Check:")] == []
    with_baseline = lab.sweep(grid.model_copy(update={"baseline": True}), seeds=[1], out=tmp_path)
    assert with_baseline.cells.select("scheme", "unmet").rows() == [
        ("uncongested", ""),
        ("droptail", "closed_loop"),
        ("pi", "closed_loop"),
    ]
    (note,) = (note for note in with_baseline.notes if note.startswith("Check:"))
    assert note.startswith("Check: users' cycles and response times do not fit each other to 5 % (N = X (R + Z))")
    assert note.endswith("(2 of 3 cells).")
    assert note in repr(with_baseline)
    # Where the rate is to change, the window is not to be steady.
    changed = ['link.rate_changes=[{at = "10 s", rate = "1 Mbit/s"}]']
    slower = grid.model_copy(update={"baseline": True, "changes": [*changes, *changed]})
    assert [note for note in lab.sweep(slower, seeds=[1], out=tmp_path).notes if note.startswith("Check:")] == []


def test_a_search_says_how_many_of_its_cells_are_not_steady(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bulk = {"bulk": {"flows": 1, "direction": "upload", "start": "12 s"}}
    experiment = lab.Experiment(
        link={"rate": "5 Mbit/s"}, users={"per_side": 5}, sources=[bulk], protocol={"warmup": "5 s", "duration": "20 s"}
    )
    with caplog.at_level("WARNING", "aqmlab"):
        options: dict[str, Any] = {"experiment": experiment, "seeds": [1], "out": tmp_path}
        lab.tune("codel", "target=1 ms..50 ms", minimise=["delay"], trials=2, confirm=0, **options)
    assert [line for line in caplog.messages if "(MSER-5)" in line and line.endswith("(2 of 2 cells).")]
