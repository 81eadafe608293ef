"""Faults that a campaign survives: nothing is lost, nothing half done is left, and no cell fails without a fault."""

from __future__ import annotations

import errno
import itertools
import multiprocessing
import os
import random
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import pytest
from polars.exceptions import PanicException

import aqmlab as lab
from aqmlab.campaigns import campaign as campaigns
from aqmlab.campaigns import failures
from aqmlab.cells.cell import Cell
from aqmlab.running import progress, run
from aqmlab.running import sweep as sweeping
from aqmlab.running.run import run_cell
from aqmlab.storage import directory, marker
from aqmlab.storage.integrity import read_metadata
from aqmlab.store import index, store
from disks import mounted, remount
from fixtures.campaigns import TINY, grid, tables

CHILDREN = multiprocessing.get_context("forkserver")
"""Children begin where everything is imported already, which saves each a second."""

CHILDREN.set_forkserver_preload(["aqmlab.campaigns.campaign", "pytest"])


def started(sweep_grid: lab.Grid, seeds: Sequence[int], out: Path) -> BaseProcess:
    """Start a sweep in a process of its own."""
    process = CHILDREN.Process(target=lab.sweep, args=(sweep_grid,), kwargs={"seeds": seeds, "out": out, "workers": 2})
    process.start()
    return process


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so, within a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the deadline passed before it was true"
        time.sleep(0.002)


def finished(out: Path) -> int:
    """Count the cells that are there."""
    return len(list((out / "cells").glob("*")))


def drafts(out: Path) -> list[Path]:
    """List the cells that are being written, or were."""
    return [place for place in (out / "drafts").glob("*") if place.is_dir()]


def left_over(out: Path) -> set[str]:
    """Name what a good store does not have."""
    expected = {marker.NAME, "cells", "drafts", index.FOLDER}
    return {path.name for path in out.iterdir()} - expected | {place.name for place in drafts(out)}


def after(number: int, happens: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Call a function once this number of cells has been run."""
    count = itertools.count(1)

    def running(*arguments: Any, **options: Any) -> object:
        result = run_cell(*arguments, **options)
        if next(count) == number:
            happens()
        return result

    monkeypatch.setattr(sweeping, "run_cell", running)


@pytest.mark.slow
def test_a_sweep_killed_fifty_times_resumes_to_the_same_store(tmp_path: Path) -> None:
    sweep_grid, seeds, out = grid(tmp_path), range(1, 21), tmp_path / "killed"
    lab.sweep(sweep_grid, seeds=seeds, out=tmp_path / "undisturbed")
    draw, killed, in_mid_cell = random.Random(7), 0, 0
    while killed < 50:
        before = set(drafts(out))
        process, until = started(sweep_grid, seeds, out), finished(out) + draw.randrange(6)
        wait_for(lambda: finished(out) >= until or not process.is_alive())  # noqa: B023 - it is over with the turn
        if draw.random() < 0.5:
            # On a busy machine few of the other moments are in a cell.
            wait_for(lambda: set(drafts(out)) - before or not process.is_alive())  # noqa: B023 - as above
        else:
            time.sleep(draw.uniform(0, 0.05))
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        killed += process.exitcode != 0
        in_mid_cell += bool(set(drafts(out)) - before)
    assert in_mid_cell > 10
    lab.sweep(sweep_grid, seeds=seeds, out=out)
    assert tables(out) == tables(tmp_path / "undisturbed")
    # The next that writes removes what is left, but for an empty place that its process had not marked yet.
    lab.sweep(sweep_grid, seeds=[21], out=out)
    assert left_over(out) == {place.name for place in drafts(out) if not (place / "alive").exists()}


PATIENT = """
from aqmlab import Law, Verdict

class Patient(Law):
    def on_enqueue(self, packet, queue, now):
        return Verdict.PASS
"""


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "patient_law.py").write_text(PATIENT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    sweep_grid = lab.Grid(set=[*TINY[:-1], "protocol.duration=1 min"], schemes=["patient_law:Patient"])
    disturbed, undisturbed = tmp_path / "there", tmp_path / "here"

    def kill_one() -> None:
        wait_for(lambda: drafts(disturbed))
        os.kill(multiprocessing.active_children()[0].pid or 0, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with pytest.raises(lab.StoreError, match=r"^a worker was lost \(.*\): run the command again to resume$"):
        lab.sweep(sweep_grid, seeds=[1, 2, 3], out=disturbed, workers=2)
    killer.join()
    assert not (disturbed / "failed").exists()
    wait_for(lambda: not multiprocessing.active_children())
    assert set(lab.sweep(sweep_grid, seeds=[1, 2, 3], out=disturbed, workers=2).cells["state"]) == {"done"}
    with ThreadPoolExecutor(1) as executor:
        lab.sweep(sweep_grid, seeds=[1, 2, 3], out=undisturbed, executor=executor)
    assert tables(disturbed) == tables(undisturbed)
    # A draft that was created a moment before its worker was killed has no mark, so that no store removes it.
    assert left_over(disturbed) == {place.name for place in drafts(disturbed) if not (place / "alive").exists()}


DASK = """
import os, signal, sys, threading, time
from pathlib import Path
from distributed import Client, LocalCluster
import aqmlab as lab

def sweep(out, executor):
    grid = lab.Grid(set=CHANGES, schemes=["pi", "codel"])
    return set(lab.sweep(grid, seeds=[1, 2], out=out, executor=executor).cells["state"])

def search(out, executor):
    long = lab.Experiment.from_toml(None, changes=CHANGES)
    how = {"experiment": long, "seeds": [1, 2], "out": out, "executor": executor}
    return lab.tune("pi", "sampling_hz=100..200", minimise=["delay"], trials=2, confirm=0, **how).record()

def kill_one(out, client):
    while not list((out / "drafts").glob("*/alive")):
        time.sleep(0.02)
    # Both have a cell, which takes seconds and has only begun.
    os.kill(client.run(os.getpid).popitem()[1], signal.SIGKILL)

if __name__ == "__main__":
    here = {"host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(2, threads_per_worker=1, processes=True, **here) as cluster, Client(cluster) as client:
        for campaign in sweep, search:
            out = Path(campaign.__name__)
            killer = threading.Thread(target=kill_one, args=(out, client))
            killer.start()
            print(campaign(out, client.get_executor()))
            killer.join()
"""


@pytest.mark.remote
@pytest.mark.slow
def test_a_dask_worker_that_is_killed_in_mid_cell_costs_no_cell(tmp_path: Path) -> None:
    script = tmp_path / "campaign.py"
    script.write_text(f"CHANGES = {[*TINY[:-1], 'protocol.duration=20 min']}\n{DASK}")
    process = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert process.stderr.count("Restarting worker") == 2, process.stderr
    campaigns_of = runpy.run_path(str(script), run_name="here")
    for name, line in zip(("sweep", "search"), process.stdout.splitlines(), strict=True):
        assert line == str(campaigns_of[name](tmp_path / "here" / name, None))
        assert tables(tmp_path / name) == tables(tmp_path / "here" / name)


def test_two_sweeps_on_one_store_make_each_cell_whole(tmp_path: Path) -> None:
    sweep_grid, seeds, out = grid(tmp_path), range(1, 5), tmp_path / "shared"
    sweeps = [started(sweep_grid, seeds, out) for _ in range(2)]
    for process in sweeps:
        process.join()
    assert [process.exitcode for process in sweeps] == [0, 0]
    lab.sweep(sweep_grid, seeds=seeds, out=tmp_path / "alone")
    assert tables(out) == tables(tmp_path / "alone")
    assert left_over(out) == set()


def test_a_shard_that_is_run_twice_makes_nothing_anew(tmp_path: Path) -> None:
    sweep_grid, out = grid(tmp_path), tmp_path / "shards"
    for number in (1, 2, 3):
        lab.sweep(sweep_grid, seeds=[1], out=out, shard=f"{number}/3")
    mtimes = {file: file.stat().st_mtime_ns for file in out.rglob("*.json")}
    assert len(lab.sweep(sweep_grid, seeds=[1], out=out, shard="2/3").planned) > 1
    assert set(lab.sweep(sweep_grid, seeds=[1], out=out).cells["state"]) == {"done"}
    assert {file: file.stat().st_mtime_ns for file in out.rglob("*.json")} == mtimes
    lab.sweep(sweep_grid, seeds=[1], out=tmp_path / "whole")
    assert tables(out) == tables(tmp_path / "whole")


def test_a_full_disk_ends_a_sweep_which_resumes_with_space(tmp_path: Path) -> None:
    sweep_grid = grid(tmp_path)
    lab.sweep(sweep_grid, seeds=[1, 2], out=tmp_path / "undisturbed")
    with mounted(tmp_path / "small", "600k") as disk:
        with pytest.raises(lab.StoreError, match="No space left on device"):
            lab.sweep(sweep_grid, seeds=[1, 2], out=disk)
        assert 0 < finished(disk) < 16
        kept = tables(disk)
        assert left_over(disk) == set()
        remount(disk, "size=16m")
        rerun = lab.sweep(sweep_grid, seeds=[1, 2], out=disk)
        assert set(rerun.cells["state"]) == {"done"}
        assert kept.items() <= tables(disk).items()
        assert tables(disk) == tables(tmp_path / "undisturbed")


def test_a_read_only_disk_ends_a_sweep_which_resumes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep_grid = grid(tmp_path)
    with mounted(tmp_path / "small", "16m") as disk:
        after(3, lambda: remount(disk, "ro"), monkeypatch)
        with pytest.raises(lab.StoreError, match="Read-only file system"):
            lab.sweep(sweep_grid, seeds=[1], out=disk, workers=1)
        assert finished(disk) == 3
        remount(disk, "rw")
        assert set(lab.sweep(sweep_grid, seeds=[1], out=disk).cells["state"]) == {"done"}
        assert left_over(disk) == set()


@pytest.mark.parametrize("reason", [errno.EROFS, errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("is_remote", [False, True])
def test_a_cell_that_cannot_be_begun_has_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int, is_remote: bool
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with ThreadPoolExecutor(1) as executor, pytest.raises(lab.StoreError, match=re.escape(os.strerror(reason))):
        lab.sweep(grid(tmp_path), seeds=[1], out=tmp_path / "out", executor=executor if is_remote else None)
    assert not (tmp_path / "out" / "failed").exists()


def test_a_cell_damaged_during_a_sweep_is_rerun_by_the_next(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    sweep_grid, out = grid(tmp_path), tmp_path / "out"
    lab.sweep(sweep_grid, seeds=[1], out=out)
    whole = tables(out)
    last = campaigns.plan(sweep_grid, [1], {})[-1].cell.key
    after(1, lambda: os.truncate(out / "cells" / last / "queue.parquet", 100), monkeypatch)
    outcome = lab.sweep(sweep_grid, seeds=[1, 2], out=out, workers=1, progress=True)
    assert outcome.cells.filter(state="missing")["cell"].to_list() == [last]
    assert "8 run in " in capsys.readouterr().err
    rerun = lab.sweep(sweep_grid, seeds=[1, 2], out=out, workers=1, progress=True)
    assert set(rerun.cells["state"]) == {"done"}
    assert whole.items() <= tables(out).items()
    assert left_over(out) == {"damaged"}
    assert f"{last}/queue.parquet is damaged" in caplog.text
    assert "1 run in " in capsys.readouterr().err


def test_a_cell_that_fails_at_its_very_end_is_told_of_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def panic(cell: Cell, *arguments: Any) -> None:
        if cell.seed == 2:
            raise PanicException("the packets do not add up")
        write(cell, *arguments)

    write = run.write_metadata
    monkeypatch.setattr(run, "write_metadata", panic)
    outcome = lab.sweep(lab.Grid(set=TINY), seeds=[1, 2, 3], out=tmp_path / "out", progress=True)
    assert outcome.cells["state"].to_list() == ["done", "failed", "done"]
    stderr = capsys.readouterr().err
    assert "PanicException: the packets do not add up" in stderr
    assert "2 run, 1 failed in " in stderr
    assert left_over(tmp_path / "out") == {"failed"}


DAYS_S = 86_400


@pytest.fixture
def jumping_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The wall clock jumps by days, forth and back, each time that somebody looks."""
    now, draw = time.time, random.Random(7)

    class Wall(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Wall:
            return cls.fromtimestamp(time.time(), tz)

    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: now() + DAYS_S * draw.choice([3, -5, 0]))
        for module in (run, failures):
            patched.setattr(module, "datetime", Wall)
        yield


@pytest.mark.usefixtures("jumping_clock")
def test_a_clock_that_jumps_loses_no_cell_and_ends_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_BETWEEN_LINES_S", 0.0)
    sweep_grid, out = grid(tmp_path), tmp_path / "out"
    outcome = lab.sweep(sweep_grid, seeds=[1, 2], out=out, limit_s=600, progress=True)
    assert set(outcome.cells["state"]) == {"done"}
    created = outcome.cells["created"]
    assert created.max() - created.min() > timedelta(days=7)  # type: ignore[operator]
    stderr = capsys.readouterr().err
    left = re.findall(r"elapsed, (.*) left$", stderr, re.MULTILINE)
    assert left
    assert all(re.fullmatch(r"(\d+ min )?\d+ s", text) for text in left)
    mtimes = {file: file.stat().st_mtime_ns for file in out.rglob("*.json")}
    lab.sweep(sweep_grid, seeds=[1, 2], out=out, limit_s=600)
    assert {file: file.stat().st_mtime_ns for file in out.rglob("*.json")} == mtimes
    assert left_over(out) == set()


class Operations:
    """Counts what a sweep does: calls in all threads, listings of the cells, cells looked at."""

    def __init__(self, out: Path) -> None:
        self._cells = str(out / "cells")
        self.counts: Counter[str] = Counter()

    def of(self, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
        """Do it, and return the counts."""
        with monkeypatch.context() as patched:
            for name in ("listdir", "scandir"):
                patched.setattr(os, name, self._listing(getattr(os, name)))
            patched.setattr(directory, "read_metadata", self._counting(read_metadata, "looked at"))
            threading.setprofile(self._called)
            sys.setprofile(self._called)
            try:
                act()
            finally:
                sys.setprofile(None)
                threading.setprofile(None)
        return self.counts

    def _called(self, _frame: FrameType, event: str, _given: object) -> None:
        if event in ("call", "c_call"):
            self.counts["calls"] += 1

    def _listing(self, list_it: Callable[..., Any]) -> Callable[..., Any]:
        def listing(path: Any = ".") -> Any:
            if not isinstance(path, int) and os.fspath(path) == self._cells:
                self.counts["listings"] += 1
            return list_it(path)

        return listing

    def _counting(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def counting(*arguments: Any) -> Any:
            self.counts[name] += 1
            return function(*arguments)

        return counting


@pytest.mark.parametrize("is_remote", [False, True])
def test_what_a_cell_costs_does_not_grow_with_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_remote: bool
) -> None:
    sweep_grid = lab.Grid(set=[*TINY[:1], "users.per_side=5", "protocol.warmup=0 s", "protocol.duration=1 s"])
    lab.sweep(sweep_grid, seeds=[1], out=tmp_path / "first", progress=True)

    def operations(number: int) -> Counter[str]:
        out = tmp_path / f"{number}"

        def act() -> None:
            with ThreadPoolExecutor(2) as executor:
                sweep = lab.sweep(
                    sweep_grid, seeds=range(number), out=out, executor=executor if is_remote else None, progress=True
                )
                assert sweep.cells.filter(pl.col("state") == "done").height == number

        return Operations(out).of(act, monkeypatch)

    small_count, large_count = operations(20), operations(100)
    assert large_count["listings"] == small_count["listings"]
    # The first writer of the index may read the cell that another thread has just made.
    assert large_count["looked at"] <= 5 * small_count["looked at"] + 1
    assert large_count["calls"] < 1.05 * 5 * small_count["calls"], (small_count, large_count)


def test_waiting_for_cells_costs_no_more_each_for_many(
    tmp_path: Path, small_cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So long that each is waited for.
    monkeypatch.setattr(sweeping, "run_cell", lambda *_, **__: time.sleep(0.001))
    kept = store.Store(tmp_path)

    def operations(number: int) -> int:
        cells = [replace(small_cell, seed=seed) for seed in range(number)]
        return Operations(tmp_path).of(lambda: sweeping.run_missing(cells, kept, workers=2), monkeypatch)["calls"]

    small_count, large_count = operations(100), operations(1000)
    assert large_count < 2 * 10 * small_count, (small_count, large_count)
