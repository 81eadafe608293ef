"""Campaigns: grids, cells that fail, shards, executors, the command."""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.exceptions import PanicException

import aqmlab as lab
from aqmlab.campaigns import campaign as campaigns
from aqmlab.campaigns.axes import Samples
from aqmlab.campaigns.shards import Shard
from aqmlab.cells.cell import Cell, cells_of, work
from aqmlab.running import sweep as sweeping
from aqmlab.running.run import run_cell
from aqmlab.store.store import Store
from conftest import Command
from custom_laws import importable
from fixtures.campaigns import GRID, TINY, tables
from fixtures.campaigns import grid as made_grid


@pytest.fixture
def grid(tmp_path: Path) -> lab.Grid:
    """Two schemes over two delays, one of them with three targets: eight points."""
    return made_grid(tmp_path)


def test_a_parameter_axis_varies_only_its_own_discipline(grid: lab.Grid) -> None:
    points = grid.points()
    targets = Counter((point["scheme"], point.get("queue.pi.q_ref")) for point in points)
    assert targets == {
        ("droptail:limit=50", None): 2,
        ("pi:ecn=true", 10): 2,
        ("pi:ecn=true", 20): 2,
        ("pi:ecn=true", 40): 2,
    }


def test_every_value_reaches_its_cell(grid: lab.Grid) -> None:
    for planned in campaigns.plan(grid, [1], {}):
        resolved = planned.cell.resolved
        assert resolved["link"]["delay"] == planned.point["link.delay"]
        if "queue.pi.q_ref" in planned.point:
            assert planned.cell.parameters["q_ref"] == planned.point["queue.pi.q_ref"]
            assert resolved["tcp"]["ecn"] is True


RANGE = {"source": "ours", "distribution": {"uniform_ms": {"min": 5, "max": 9}}}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("link.rate_changes", [[{"at": "5 s", "rate": "1 Mbit/s"}], [{"at": "5 s", "rate": "1.5 Mbit/s"}]]),
        ("users.rtt", ["general", RANGE]),
        ("sources", [[{"bulk": {"flows": 2, "name": 'a "b" \\ ü'}}], [{"datagrams": {"rate": "1 Mbit/s"}}]]),
        ("record.losses", [True, False]),
    ],
)
def test_any_path_of_a_spec_is_an_axis(path: str, values: list[Any], tmp_path: Path) -> None:
    grid = lab.Grid(set=TINY, axes={path: values})
    tiny = lab.Experiment.from_toml(None, changes=TINY).model_dump(exclude_none=True)
    for planned, value in zip(campaigns.plan(grid, [1], {}), values, strict=True):
        *above, last = path.split(".")
        wanted = copy.deepcopy(tiny)
        (wanted[above[0]] if above else wanted)[last] = value
        assert planned.cell.key == cells_of(lab.Experiment(**wanted), [1])[0].key
    left = lab.Grid(set=TINY, axes={path: values}, exclude=[{path: values[1]}]).points()
    assert left == [{path: values[0]}]
    cells = lab.sweep(grid, seeds=[1], out=tmp_path / "out").cells
    assert cells["state"].to_list() == ["done"] * 2
    assert cells[path].n_unique() == 2


def test_axes_that_go_together_and_points_that_are_left_out() -> None:
    linked_axes = {"queue.red.min_th": [5, 10], "queue.red.max_th": [15, 30]}
    grid = lab.Grid(schemes=["red", "pi"], zipped=[linked_axes], exclude=[{"scheme": "red", "queue.red.min_th": 5}])
    assert grid.points() == [
        {"scheme": "red", "queue.red.min_th": 10, "queue.red.max_th": 30},
        {"scheme": "pi"},
    ]


@pytest.mark.parametrize("method", ["sobol", "latin-hypercube"])
def test_samples_fill_their_ranges_evenly_and_reproducibly(method: str) -> None:
    over = {"users.load": {"from": 50, "to": 100}, "queue.pi.q_ref": {"from": 1, "to": 100, "scale": "log"}}
    samples = Samples.model_validate({"over": over, "points": 64, "method": method})
    values = samples.values()
    assert values == samples.values()
    loads, targets = ([float(point[path]) for point in values] for path in over)
    assert min(loads) >= 50
    assert max(loads) <= 100
    # An eighth of the points in each eighth of a range: what independent draws would not do.
    assert set(Counter(int((load - 50) / 6.25) for load in loads).values()) == {8}
    assert sum(target < 10 for target in targets) == 32


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"axis": {}}, "axis: is not a key of a grid"),
        (
            {"axes": {"users.load": []}},
            "axes.users.load: must be a list of values, a table of names and values, or a table",
        ),
        ({"axes": {"load": [1]}}, "axes.load: must be a path of a spec, such as users.load, got 'load'"),
        ({"axes": {"users.load": {"from": 9, "to": 1, "steps": 3}}}, "axes.users.load: from must be less than to"),
        ({"axes": {"users.load": [1]}, "zipped": [{"users.load": [2]}]}, "axes: each path may be varied once"),
        ({"zipped": [{"a.b": [1, 2], "a.c": [1]}]}, "zipped: zipped axes must have the same length; a.b has 2"),
        ({"axes": {"users.load": {}}}, "axes.users.load: from: must be given"),
        ({"axes": {"users.load": {"from": 1, "low": 9}}}, "axes.users.load: to: must be given"),
        ({"axes": {"users.load": {" low": 9}}}, "axes.users.load: a name must be a text in one line"),
        ({"axes": {"users.load": {"a\nb": 9}}}, "axes.users.load: a name must be a text in one line"),
        ({"axes": {"users.load": {"low": None}}}, "axes.users.load: must be a number, a text, true or false"),
        ({"zipped": [{"a.b": {"x": 1, "y": 2}, "a.c": [1]}]}, "zipped: zipped axes must have the same length"),
        ({"exclude": [{"users.load": 3}]}, "exclude: no axis is called users.load"),
        ({"schemes": ["pi"], "exclude": [{"scheme": "pi"}]}, "exclude: excludes all points"),
        ({"schemes": ["pie", "no"]}, "no: "),
        ({"axes": {f"a.b{n}": [*range(1000)] for n in range(3)}}, "axes: must have at most 1,000,000 points together"),
        (
            {"schemes": ["codel", "droptail:limit=20"], "axes": {"queue.pi.q_ref": [1, 2]}},
            "axes: no scheme has queue.pi.q_ref; the schemes are codel, droptail",
        ),
        ({"set": ["users.load"]}, "set: write path=value"),
        ({"set": ["users[0]=5"]}, "set: users has none: write the whole list, got 'users[0]=5'"),
        ({"axes": {"users[0].load": [5]}}, "users[0].load=5: users has none: write the whole list"),
        ({"axes": {"users.lode": [1]}}, "users.lode=1: users.lode: unknown key (did you mean 'load'?)"),
        ({"set": TINY, "axes": {"link.rate": ["1 Mbit/s", "1 parsec"]}}, "link.rate=1 parsec: link.rate: "),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(parts: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError) as error:
        campaigns.plan(lab.Grid(**parts), [1], {})
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_impossible_points_are_left_out_where_that_is_allowed() -> None:
    axes = {"queue.red.min_th": [5, 50], "queue.red.max_th": [15, 60]}
    grid = lab.Grid(set=TINY, schemes=["red"], axes=axes)
    with pytest.raises(lab.SpecError, match=r"scheme=red, queue\.red\.min_th=50, queue\.red\.max_th=15: "):
        campaigns.plan(grid, [1], {})
    allowed = grid.model_copy(update={"skip_impossible": True})
    assert len(campaigns.plan(allowed, [1], {})) == 3


def test_a_campaign_has_a_row_for_each_cell_and_resumes(grid: lab.Grid, tmp_path: Path) -> None:
    first = lab.sweep(grid, seeds=[1], out=tmp_path / "out")
    mtimes = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "cells").rglob("*.parquet")}
    two_seeds = lab.sweep(grid, seeds=[1, 2], out=tmp_path / "out")
    assert {file: file.stat().st_mtime_ns for file in mtimes} == mtimes
    assert first.cells["state"].to_list() == ["done"] * 8
    assert two_seeds.cells.height == 16
    assert two_seeds.means["seeds"].to_list() == [2] * 8
    row = two_seeds.means.row(0, named=True)
    mine = two_seeds.cells.filter(scheme=row["scheme"]).filter(pl.col("link.delay") == row["link.delay"])
    assert row["throughput"] == pytest.approx(mine["throughput_mbps"].mean())
    # Student's t for two values: 12.706 times half their distance.
    low, high = sorted(mine["throughput_mbps"])
    assert row["throughput_half"] == pytest.approx(12.7062 * (high - low) / 2, rel=1e-4)


def test_a_failed_cell_is_recorded_and_the_others_run(
    grid: lab.Grid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []

    def failing(cell: Cell, *arguments: Any, **options: Any) -> object:
        runs.append(cell.seed)
        if cell.seed == 2:
            # What a panic in Rust is in Python, though not in our engine: no input is known on which that panics.
            raise PanicException("a queue of\n-1 packets")
        return run_cell(cell, *arguments, **options)

    monkeypatch.setattr(sweeping, "run_cell", failing)
    one = lab.Grid(set=TINY, schemes=["droptail"])
    outcome = lab.sweep(one, seeds=[1, 2, 3], out=tmp_path / "out")
    assert outcome.cells["state"].to_list() == ["done", "failed", "done"]
    (failure,) = outcome.failures
    assert (failure.seed, failure.error) == (2, "PanicException: a queue of -1 packets")
    runs.clear()
    lab.sweep(one, seeds=[1, 2, 3], out=tmp_path / "out")
    assert 2 not in runs
    monkeypatch.setattr(sweeping, "run_cell", run_cell)
    rerun = lab.sweep(one, seeds=[1, 2, 3], out=tmp_path / "out", retry=True)
    assert rerun.cells["state"].to_list() == ["done"] * 3
    assert not rerun.failures


class _Refusing(Executor):
    """Its cells end by an error, here and now."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(self._error)
        return future


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (lab.StoreError("results/cells: cannot be written: No space left on device"), "No space left on device"),
        (BrokenProcessPool("killed"), "a worker was lost (killed): run the command again to resume"),
    ],
)
def test_what_is_no_cells_fault_fails_no_cell_elsewhere_either(tmp_path: Path, error: Exception, message: str) -> None:
    with pytest.raises(lab.StoreError, match=re.escape(message)):
        lab.sweep(lab.Grid(set=TINY, schemes=["pi"]), seeds=[1], out=tmp_path / "out", executor=_Refusing(error))
    assert not (tmp_path / "out" / "failed").exists()


def test_a_cell_that_was_run_well_since_has_not_failed(tmp_path: Path) -> None:
    grid = lab.Grid(set=TINY, schemes=["pi"])
    assert lab.sweep(grid, seeds=[1], out=tmp_path / "out", limit_s=1e-9).failures
    (planned,) = campaigns.plan(grid, [1], {})
    run_cell(planned.cell, Store(tmp_path / "out"))
    rerun = lab.sweep(grid, seeds=[1], out=tmp_path / "out")
    assert (rerun.cells["state"].to_list(), rerun.failures) == (["done"], [])


ENDLESS = """
from aqmlab import Law, Verdict

class Endless(Law):
    def on_enqueue(self, packet, queue, now):
        while self.is_stuck:
            pass
        return Verdict.PASS

    is_stuck = True

class Fine(Endless):
    is_stuck = False

class Wrong(Law):
    def on_enqueue(self, packet, queue, now):
        return 1 / 0
"""


@pytest.fixture
def law_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of laws: one that never comes back, one that does, one that raises."""
    monkeypatch.chdir(tmp_path)
    return importable(ENDLESS, tmp_path, monkeypatch)


@pytest.mark.slow
def test_a_cell_that_does_not_end_fails_at_its_limit(law_module: str, tmp_path: Path) -> None:
    grid = lab.Grid(set=TINY, schemes=[f"{law_module}:Endless", f"{law_module}:Fine", f"{law_module}:Wrong"])
    outcome = lab.sweep(grid, seeds=[1], out=tmp_path / "results", limit_s=8, workers=2)
    assert outcome.cells["state"].to_list() == ["failed", "done", "failed"]
    assert outcome.failures[0].error == "exceeded the time limit: a call of its law does not return"
    assert "Wrong.on_enqueue: ZeroDivisionError" in outcome.failures[1].error


def test_a_slow_cell_fails_at_its_limit(grid: lab.Grid, tmp_path: Path) -> None:
    outcome = lab.sweep(lab.Grid(set=TINY, schemes=["pi"]), seeds=[1], out=tmp_path / "out", limit_s=1e-9)
    assert [failure.error for failure in outcome.failures] == ["took longer than 1e-09 s"]


@given(st.integers(1, 40), st.lists(st.integers(1, 50), min_size=1, max_size=30))
def test_shards_have_every_cell_once_and_alike_in_work(shard_count: int, minutes: list[int]) -> None:
    grid = lab.Grid(set=TINY, axes={"protocol.duration": [f"{n} min" for n in dict.fromkeys(minutes)]})
    cells = [planned.cell for planned in campaigns.plan(grid, [1, 2], {})]
    shards = [Shard(number, shard_count).select(cells) for number in range(1, shard_count + 1)]
    assert sorted(cell.key for shard in shards for cell in shard) == sorted(cell.key for cell in cells)
    loads = [sum(map(work, shard)) for shard in shards]
    assert max(loads) - min(loads) <= max(map(work, cells))


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4"])
def test_no_shard_is_refused(text: str) -> None:
    with pytest.raises(lab.SpecError, match="must be I/N"):
        Shard.parse(text)


@pytest.mark.parametrize(
    "make",
    [lambda: ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn"))],
    ids=["threads", "processes"],
)
def test_any_executor_makes_the_same_store(grid: lab.Grid, tmp_path: Path, make: Callable[[], Executor]) -> None:
    lab.sweep(grid, seeds=[1], out=tmp_path / "here")
    with make() as executor:
        # As a shard: what decides that looks at the cells, which are handed over after.
        lab.sweep(grid, seeds=[1], out=tmp_path / "there", executor=executor, shard="1/1")
    assert tables(tmp_path / "there") == tables(tmp_path / "here")


def test_the_longest_cells_are_run_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[float] = []

    def running(cell: Cell, *arguments: Any, **options: Any) -> object:
        ran.append(cell.duration_s)
        return run_cell(cell, *arguments, **options)

    monkeypatch.setattr(sweeping, "run_cell", running)
    grid = lab.Grid(set=TINY, axes={"protocol.duration": ["2 s", "9 s", "5 s"]})
    lab.sweep(grid, seeds=[1, 2], out=tmp_path / "out", workers=1, shard="1/1")
    assert ran == [9, 9, 5, 5, 2, 2]


def test_the_command_runs_missing_cells_and_writes_every_row(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    first = aqmlab("sweep", "grid.toml", "--seeds", "2", "--table", "cells.csv")
    assert first.code == 0, first.err
    assert "droptail:limit=50" in first.out
    assert "16 run in " in first.err
    assert pl.read_csv("cells.csv").height == 16
    assert "16 cells, in the store" in aqmlab("sweep", "grid.toml", "--seeds", "2").err
    shards = [
        json.loads(aqmlab("sweep", "grid.toml", "--seeds", "2", "--shard", f"{n}/2", "--json").out) for n in (1, 2)
    ]
    assert sum(point["seeds"] for shard in shards for point in shard["points"]) == 16


def test_the_command_says_by_its_exit_code_that_cells_failed(aqmlab: Command, law_module: str, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(f'set = {json.dumps(TINY)}\nschemes = ["{law_module}:Wrong", "droptail"]\n')
    outcome = aqmlab("sweep", "grid.toml", "--seeds", "1", "--json")
    assert outcome.code == 1
    assert [failed["label"] for failed in json.loads(outcome.out)["failed"]] == [f"{law_module}:Wrong"]
    assert "ZeroDivisionError" in outcome.err


def test_a_script_for_slurm_has_the_command_and_a_shard_a_job(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "the grid.toml").write_text(GRID)
    output = aqmlab("sweep", "the grid.toml", "--seeds", "2", "--print-sbatch", "8").out
    assert "#SBATCH --array=1-8\n" in output
    assert """aqmlab sweep 'the grid.toml' --seeds 2 --workers 1 --shard "$SLURM_ARRAY_TASK_ID/8"\n""" in output
    assert subprocess.run(["bash", "-n"], input=output, text=True, check=False).returncode == 0
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.toml"], "no.toml: cannot be read"),
        (["grid.toml", "--shard", "3/2"], "--shard: must be I/N"),
        (["grid.toml", "--table", "cells.txt"], "--table: must end in .csv, .md, .tex or .parquet"),
        (["grid.toml", "--limit", "10"], "--limit: "),
        (["grid.toml", "--out", "bad.toml"], "out: must be a directory to write to, got bad.toml"),
        (["grid.toml", "--limit", "0 s"], "limit: must be above 0 s, got 0"),
        (["grid.toml", "--table", "bad.toml/cells.csv"], "--table: must be a file that can be written"),
        (["grid.toml", "--print-sbatch", "4", "--shard", "1/2"], "--shard: cannot be with --print-sbatch"),
        (["grid.toml", "--print-sbatch", "4", "--table", "cells.csv"], "--table: cannot be with --print-sbatch"),
        (["grid.toml", "--print-sbatch", "4", "--watch"], "--watch: cannot be with --print-sbatch"),
        (["bad.toml"], "bad.toml: axes.users.load: must be a list"),
    ],
)
def test_a_mistake_in_the_command_is_one_line(
    aqmlab: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    (tmp_path / "bad.toml").write_text('axes = {"users.load" = 3}')
    outcome = aqmlab("sweep", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("limit_s", [0, -1, float("nan")])
def test_a_limit_that_no_cell_can_keep_fails_none(tmp_path: Path, limit_s: float) -> None:
    with pytest.raises(lab.SpecError, match=r"^limit: must be above 0 s, got "):
        lab.sweep(lab.Grid(set=TINY), seeds=[1], out=tmp_path / "out", limit_s=limit_s)
    assert not (tmp_path / "out" / "failed").exists()


def test_a_shard_without_cells_is_run_all_the_same(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(f"set = {json.dumps(TINY)}\n")
    # Of one cell and two shards one has none, before and after the other is run.
    for shard, cells in (("2/2", 0), ("1/2", 1), ("2/2", 0)):
        command = ("sweep", "grid.toml", "--seeds", "1", "--shard", shard)
        ran = aqmlab(*command, "--table", "cells.csv", "--json")
        assert ran.code == 0, ran.err
        assert sum(point["seeds"] for point in json.loads(ran.out)["points"]) == cells
        assert pl.read_csv("cells.csv").height == cells
        assert aqmlab(*command).code == 0


def test_an_interrupted_sweep_says_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID.replace("9 s", "30 min"))
    command = [sys.executable, "-m", "aqmlab", "sweep", "grid.toml"]
    sweep = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not list((tmp_path / "results" / "drafts").glob("*/alive")):
        assert sweep.poll() is None
        time.sleep(0.02)
    os.kill(sweep.pid, signal.SIGINT)
    stderr = sweep.communicate(timeout=60)[1]
    assert sweep.returncode == 130
    assert "cells are in the store; run the command again to resume" in stderr
