"""Cells that are being written: beside the others, never among them, and swept when their process is gone."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from aqmlab.cells.cell import Cell
from aqmlab.running.run import run_cell
from aqmlab.storage.drafts import Drafts
from aqmlab.store.store import Store

KEY = "0123456789abcdef"

WRITES_AND_WAITS = """
import sys
import time
from pathlib import Path
from aqmlab.storage.drafts import Drafts

with Drafts(Path(sys.argv[1])).create("0123456789abcdef") as draft:
    (draft / "queue.parquet").write_text("half")
    print(draft, flush=True)
    sys.stdin.read()
"""


@contextmanager
def a_process_that_writes(drafts: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    command = [sys.executable, "-c", WRITES_AND_WAITS, str(drafts)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def rows(store: Store) -> int:
    """The number of rows that DuckDB finds in all cells."""
    answer = duckdb.connect().execute(f"SELECT count(*) FROM read_parquet('{store.out}/cells/*/queue.parquet')")
    ((count,),) = answer.fetchall()
    return int(count)


def test_duckdb_reads_the_cells_at_any_moment_of_a_run(small_cell: Cell, another_cell: Cell, store: Store) -> None:
    before = run_cell(small_cell, store).queue.height
    row_counts: list[int] = []

    def watch(now: float, end: float) -> None:
        drafts = list(store.out.glob("drafts/*/*/queue.parquet"))
        # After the first rows have been written, and after the last.
        if now in (1, 62, end):
            assert len(drafts) == (now > 1)
            row_counts.append(rows(store))

    after = run_cell(another_cell, store, watch).queue.height
    assert row_counts == [before] * 3
    assert rows(store) == before + after


def test_a_killed_command_leaves_good_cells_and_a_swept_draft(
    small_cell: Cell, another_cell: Cell, store: Store
) -> None:
    height = run_cell(small_cell, store).queue.height
    command = [sys.executable, "-m", "aqmlab", "compare", "--users", "9330", "--seeds", "1", "--workers", "1", "pi"]
    drafts = store.out / "drafts"
    with subprocess.Popen([*command, "--out", str(store.out)], stderr=subprocess.DEVNULL) as process:
        while not list(drafts.glob("*/*/")):
            assert process.poll() is None
            os.sched_yield()
        process.send_signal(signal.SIGKILL)
    assert list(drafts.glob("*/*/")) != []
    assert rows(store) == height
    assert Store(store.out).cells().height == 1
    assert list(drafts.glob("*/*/")) != [], "reading removes nothing"
    another = Store(store.out)
    run_cell(another_cell, another)
    assert list(drafts.iterdir()) == []
    assert rows(store) > height


def test_a_draft_stays_as_long_as_its_process_runs(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    with a_process_that_writes(tmp_path) as (process, draft):
        drafts.sweep()
        assert (draft / "queue.parquet").read_text() == "half"
        process.kill()
        process.wait()
        assert draft.is_dir()
        drafts.sweep()
        assert not draft.parent.exists()


def test_a_draft_of_this_process_is_left_alone(small_cell: Cell, another_cell: Cell, store: Store) -> None:
    with store.create(small_cell) as draft:
        run_cell(another_cell, Store(store.out))
        assert draft.is_dir()


def abandoned(drafts: Path, name: str = f"{KEY}-x7k2p0qz", machine: str | None = None) -> Path:
    """Make what a process that was killed leaves."""
    place = drafts / name
    (place / KEY).mkdir(parents=True)
    (place / "alive").write_text(platform.node() if machine is None else machine)
    return place


def test_only_what_has_the_name_and_the_mark_of_a_draft_is_swept(tmp_path: Path) -> None:
    draft = abandoned(tmp_path)
    directories = [abandoned(tmp_path, name) for name in ("chapter1", f"{KEY}-X7K2P0QZ", f".{KEY}-x7k2p0qz")]
    (unmarked := tmp_path / f"{KEY}-aaaaaaaa").mkdir()
    (linked := tmp_path / f"{KEY}-bbbbbbbb").symlink_to(directories[0])
    (fifo := tmp_path / f"{KEY}-cccccccc").mkdir()
    os.mkfifo(fifo / "alive")
    Drafts(tmp_path).sweep()
    assert not draft.exists()
    assert all(place.exists() for place in (*directories, unmarked, linked, fifo))


def test_a_draft_of_another_machine_is_left_alone_for_a_day(tmp_path: Path) -> None:
    young = abandoned(tmp_path, machine="another")
    old = abandoned(tmp_path, f"{KEY}-00000000", machine="another")
    for file in (*old.iterdir(), old):
        os.utime(file, (0, time.time() - 90_000))
    Drafts(tmp_path).sweep()
    assert young.exists()
    assert not old.exists()
