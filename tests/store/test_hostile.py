"""Hostile cells: each is left out in one line, and stops no command and no page."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from aqmlab.cells.cell import Cell, cells_of
from aqmlab.console import queries as console
from aqmlab.console.auth import Rejected
from aqmlab.console.cell_list import CellTable, View
from aqmlab.reports.selection import Choice, select
from aqmlab.running.run import run_cell
from aqmlab.spec.experiment import Experiment
from aqmlab.storage.integrity import METADATA, read_metadata
from aqmlab.store.store import Store
from conftest import Command
from fixtures.metadata import reseal

Spoil = Callable[[Path], object]


def metadata(**changes: Any) -> Spoil:
    return lambda directory: reseal(directory, **changes)


def files(change: Callable[[dict[str, Any]], object]) -> Spoil:
    """Write other things about a cell's files into its metadata, with the right checksum."""

    def spoil(directory: Path) -> None:
        whole = read_metadata(directory)
        change(whole["files"])
        checksum = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
        (directory / METADATA).write_text(json.dumps({**whole, "sha256": checksum}))

    return spoil


def summary(content: bytes | pl.DataFrame) -> Spoil:
    """Put another summary into a cell and seal it again."""

    def spoil(directory: Path) -> None:
        file = directory / "summary.parquet"
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            content.write_parquet(file)
        metadata()(directory)

    return spoil


def text(content: str) -> Spoil:
    return lambda directory: (directory / METADATA).write_text(content)


def fifo(name: str) -> Spoil:
    def spoil(directory: Path) -> None:
        (directory / name).unlink()
        os.mkfifo(directory / name)

    return spoil


def link(name: str, target: str) -> Spoil:
    def spoil(directory: Path) -> None:
        (directory / name).unlink()
        (directory / name).symlink_to(target)

    return spoil


def named(name: str) -> Spoil:
    return files(lambda entries: entries.update({name: {"bytes": 0, "sha256": "0" * 64}}))


def no_summary(directory: Path) -> None:
    (directory / "summary.parquet").unlink()
    reseal(directory)


SPOILT: dict[str, Spoil] = {
    "checks that are a list": metadata(checks=[1]),
    "live that is a number": metadata(live=7),
    "live without a verdict": metadata(live={}),
    "no moment": metadata(created=...),
    "a moment that is a word": metadata(created="x"),
    "a moment without a time zone": metadata(created="2026-11-26T00:00:00"),
    "no seed": metadata(seed=...),
    "an infinite size": files(lambda of: of["queue.parquet"].update(bytes=float("inf"))),
    "a size of 5,000 digits": files(lambda of: of["queue.parquet"].update(bytes=10**4000)),
    "a size below 0": files(lambda of: of["queue.parquet"].update(bytes=-1)),
    "brackets": text(200_000 * "["),
    "objects": text(200_000 * '{"a":'),
    "too long": text(json.dumps({"a": 2_000_000 * "x"})),
    "not UTF-8": lambda directory: (directory / METADATA).write_bytes(b'{"\xff": 1}'),
    "no summary": no_summary,
    "a summary of garbage": summary(b"garbage"),
    "a summary that begins well": summary(b"PAR1" + 1000 * b"\0" + b"PAR1"),
    "a summary of other columns": summary(pl.DataFrame({"seed": [1]}, schema={"seed": pl.UInt64})),
    "a summary of other types": summary(pl.DataFrame({"label": [1], "seed": ["x"], "loss_percent": ["much"]})),
    "a summary of no row": summary(pl.DataFrame({"label": []}, schema={"label": pl.String})),
    "a device": named("/dev/zero"),
    "a file of the system": named("../../../../../../../../etc/passwd"),
    "a file in a folder": named("a/b"),
    "this directory": named("."),
    "a pipe for metadata": fifo(METADATA),
    "a pipe for a table": fifo("queue.parquet"),
    "a pipe for a summary": fifo("summary.parquet"),
    "a link to a device": link("queue.parquet", "/dev/zero"),
    "metadata that are a link": link(METADATA, "/dev/zero"),
}
"""Faults of a cell, by name."""


@pytest.fixture(scope="module")
def tiny() -> Cell:
    experiment = Experiment(users={"per_side": 5}, protocol={"warmup": "0 s", "duration": "1 s"})
    return cells_of(experiment, [1])[0]


@pytest.fixture(scope="module")
def whole(tiny: Cell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one cell."""
    out = tmp_path_factory.mktemp("whole")
    run_cell(tiny, Store(out))
    return out


def spoilt(whole: Path, out: Path, *names: str) -> list[str]:
    """Copy a store, with cells beside that are spoilt; return their keys."""
    shutil.copytree(whole, out)
    (cell,) = (out / "cells").iterdir()
    keys = []
    for number, name in enumerate(names):
        directory = shutil.copytree(cell, cell.with_name(f"{number:016x}"))
        SPOILT[name](directory)
        keys.append(directory.name)
    return keys


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_cell_is_left_out_in_one_line(
    whole: Path, tiny: Cell, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (key,) = spoilt(whole, tmp_path / "s", name)
    store = Store(tmp_path / "s")
    assert store.cells()["cell"].to_list() == [tiny.key]
    (line,) = caplog.messages
    assert "\n" not in line
    assert re.fullmatch(rf"{store.out}/cells/{key}/\S+ is damaged: .*; the cell is left out", line)
    assert len(line) < len(str(store.out)) + 250
    assert store.get_by_key(key) is None


@pytest.mark.parametrize("table", ["summary", "queue"])
def test_a_scan_leaves_spoilt_cells_out(
    whole: Path, tiny: Cell, tmp_path: Path, caplog: pytest.LogCaptureFixture, table: str
) -> None:
    keys = dict(zip(SPOILT, spoilt(whole, tmp_path / "s", *SPOILT), strict=True))
    summary_keys = {key for name, key in keys.items() if "summary" in name and "pipe" not in name}
    undamaged = Store(whole).scan(table).collect()
    frame = Store(tmp_path / "s").scan(table).collect()
    assert dict(frame.schema) == dict(undamaged.schema)
    assert_frame_equal(frame.filter(cell=tiny.key), undamaged, check_column_order=False)
    assert set(frame["cell"]) <= {tiny.key, *summary_keys}
    left_out = [line for line in caplog.messages if line.endswith("; the cell is left out")]
    assert len(left_out) == len(caplog.messages) >= len(SPOILT) - len(summary_keys)


def test_no_command_is_stopped_by_spoilt_cells(whole: Path, tiny: Cell, tmp_path: Path, aqmlab: Command) -> None:
    keys = spoilt(whole, tmp_path / "results", *SPOILT)
    outcome = aqmlab("ls", "--json")
    assert [row["cell"] for row in json.loads(outcome.out)] == [tiny.key]
    for command in (["compact"], ["ls"], ["rm", "--scheme", "nosuch"], ["report", "-o", "page.html"]):
        outcome = aqmlab(*command)
        assert outcome.code == 0, outcome.err
        assert "Traceback" not in outcome.err
    assert (tmp_path / "page.html").stat().st_size > 100_000
    assert {path.name for path in (tmp_path / "results" / "cells").iterdir()} == {tiny.key, *keys}


def test_the_console_shows_a_store_with_spoilt_cells(whole: Path, tiny: Cell, tmp_path: Path) -> None:
    keys = spoilt(whole, tmp_path / "s", *SPOILT)
    store = Store(tmp_path / "s")
    (group,) = CellTable().page(store, View()).groups
    assert [row["cell"] for row in group.rows] == [tiny.key]
    for key in keys:
        with pytest.raises(Rejected):
            console.result(store, key)


def test_a_report_of_a_spoilt_cell_is_refused(whole: Path, tmp_path: Path) -> None:
    (key,) = spoilt(whole, tmp_path / "s", "brackets")
    with pytest.raises(ValueError, match="no cell"):
        select(tmp_path / "s", Choice(cells=(key,)))
