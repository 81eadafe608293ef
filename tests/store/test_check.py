"""Bits that have flipped are noticed by every reader."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from aqmlab.cells.cell import Cell
from aqmlab.running.run import run_cell
from aqmlab.storage import integrity
from aqmlab.storage.errors import Damaged
from aqmlab.store.store import Store
from conftest import Command


@pytest.fixture
def out(small_cell: Cell, another_cell: Cell, store: Store, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of two cells whose tables are as large files are."""
    for cell in (small_cell, another_cell):
        run_cell(cell, store)
    monkeypatch.setattr(integrity, "_MAX_CHECKED_BYTES", 0)
    return Path(str(store.out))


def flip(file: Path, draw: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


def test_no_flipped_bit_is_read_as_data(
    out: Path, small_cell: Cell, another_cell: Cell, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    draw, whole = random.Random(1), Store(out).scan("queue").collect()
    undamaged = whole.filter(cell=another_cell.key)
    for turn in range(60):
        copy = shutil.copytree(out, tmp_path / f"copy{turn}")
        flip(copy / "cells" / small_cell.key / "queue.parquet", draw)
        assert_frame_equal(Store(copy).scan("queue").collect(), undamaged)
    assert len(caplog.messages) == 60
    assert all("queue.parquet is damaged: its checksum" in line for line in caplog.messages)


def test_a_table_is_read_once_to_be_checked(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrity, "_TICK_NS", -1)
    first = Store(out).scan("queue").collect()
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it is read again"))
    assert_frame_equal(Store(out).scan("queue").collect(), first)


def test_a_file_that_has_just_been_written_is_read_each_time(out: Path, small_cell: Cell) -> None:
    file = out / "cells" / small_cell.key / "queue.parquet"
    Store(out).scan("queue").collect()
    flip(file, random.Random(2))
    assert set(Store(out).scan("queue").collect()["cell"]) != {small_cell.key}


def test_a_store_is_checked_file_by_file(out: Path, small_cell: Cell, another_cell: Cell, aqmlab: Command) -> None:
    assert Store(out).check() == []
    assert aqmlab("check").out == "2 cells checked, 0 damaged\n"
    for file in (out / "cells" / small_cell.key).iterdir():
        before = file.read_bytes()
        flip(file, random.Random(3))
        (damage,) = Store(out).check()
        assert isinstance(damage, Damaged)
        assert str(damage).startswith(f"{file} is damaged: ")
        file.write_bytes(before)
    flip(out / "cells" / another_cell.key / "link.parquet", random.Random(4))
    outcome = aqmlab("check")
    assert (outcome.code, outcome.out) == (1, "2 cells checked, 1 damaged\n")
    assert outcome.err == (
        f"aqmlab: results/cells/{another_cell.key}/link.parquet is damaged: its checksum is not that of what was"
        " written\n"
    )
    assert json.loads(aqmlab("check", "--json").out) == {"cells": 2, "damaged": [outcome.err[8:-1]]}
    assert aqmlab("check", "nosuch").code == 2
