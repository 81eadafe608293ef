"""Cells that are being written: beside the others, never among them, and swept when their process is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from aqmlab.running.cell import Cell
from aqmlab.running.files.drafts import Drafts
from aqmlab.running.run import run_cell
from aqmlab.running.store import Store

WRITES_AND_WAITS = """
import sys
from pathlib import Path
from aqmlab.running.files.drafts import Drafts

with Drafts(Path(sys.argv[1])).new("cell") as draft:
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
    """What DuckDB finds in all cells."""
    found = duckdb.connect().execute(f"SELECT count(*) FROM read_parquet('{store.out}/cells/*/queue.parquet')")
    ((count,),) = found.fetchall()
    return int(count)


def test_duckdb_reads_the_cells_at_any_moment_of_a_run(small_cell: Cell, another_cell: Cell, store: Store) -> None:
    before = run_cell(small_cell, store).queue.height
    seen: list[int] = []

    def watch(now: float, end: float) -> None:
        drafts = list(store.out.glob("drafts/*/*/queue.parquet"))
        # After the first rows have been written, and after the last.
        if now in (1, 62, end):
            assert len(drafts) == (now > 1)
            seen.append(rows(store))

    after = run_cell(another_cell, store, watch).queue.height
    assert seen == [before] * 3
    assert rows(store) == before + after


def test_a_killed_command_leaves_cells_that_can_be_read_and_a_draft_that_is_swept(
    small_cell: Cell, store: Store
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
    Store(store.out)
    assert [path.name for path in drafts.iterdir()] == ["lock"]
    assert rows(store) == height


def test_the_draft_of_a_living_process_is_left_alone_and_swept_when_it_is_gone(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    with a_process_that_writes(tmp_path) as (process, draft):
        drafts.sweep()
        assert (draft / "queue.parquet").read_text() == "half"
        process.kill()
        process.wait()
        assert draft.is_dir()
        drafts.sweep()
        assert not draft.parent.exists()


def test_a_draft_of_this_process_is_left_alone(small_cell: Cell, store: Store) -> None:
    with store.create(small_cell) as draft:
        Store(store.out)
        assert draft.is_dir()


def test_a_draft_whose_process_was_killed_as_it_began_is_swept(tmp_path: Path) -> None:
    (tmp_path / "cell-x7k2").mkdir()
    Drafts(tmp_path).sweep()
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_drafts_of_earlier_versions_are_swept_too(store: Store, small_cell: Cell) -> None:
    run_cell(small_cell, store)
    old = store.out / "cells" / f".{small_cell.key}-9lic3e0i"
    old.mkdir()
    (old / "queue.parquet").write_text("half")
    Store(store.out)
    assert [path.name for path in (store.out / "cells").iterdir()] == [small_cell.key]
