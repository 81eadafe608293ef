"""The index of a store: what it says is what the cells say, and it is looked at instead of them."""

from __future__ import annotations

import logging
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import aqmlab as lab
from aqmlab.running.cell import Cell
from aqmlab.running.store import Store
from aqmlab.running.sweep import sweep
from conftest import Command


@pytest.fixture
def kept(small_cell: Cell, another_cell: Cell, store: Store) -> list[Cell]:
    """Two cells that have run."""
    sweep([small_cell, another_cell], store)
    return [small_cell, another_cell]


def test_cells_are_the_same_with_an_index_and_are_not_read_one_by_one(kept: list[Cell], store: Store) -> None:
    before = store.cells()
    assert store.compact() == 2
    for cell in kept:
        (store.out / "cells" / cell.key / "summary.parquet").unlink()
    assert_frame_equal(store.cells(), before)


def test_cells_that_come_and_go_after_it(kept: list[Cell], store: Store) -> None:
    store.compact()
    third = replace(kept[0], seed=3)
    sweep([third], store)
    store.remove(kept[0].key)
    assert set(store.cells()["cell"]) == {kept[1].key, third.key}
    assert store.cells().schema == Store(store.out).cells().schema
    assert store.compact() == 2


def test_it_can_be_moved_with_its_cells(kept: list[Cell], store: Store, tmp_path: Path) -> None:
    store.compact()
    moved = tmp_path / "elsewhere"
    shutil.move(str(store.out), moved)
    assert all(Path(path).is_dir() for path in Store(moved).cells()["path"])


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", None])
def test_a_damaged_one_is_left_out(
    kept: list[Cell], store: Store, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    whole = store.cells()
    store.compact()
    file = store.out / "cells.parquet"
    file.write_bytes(file.read_bytes()[:-100] if content is None else content)
    with caplog.at_level(logging.WARNING, "aqmlab"):
        assert_frame_equal(store.cells(), whole)
    assert "cells.parquet is damaged and left out" in caplog.text


def test_one_of_another_form_is_left_out(kept: list[Cell], store: Store) -> None:
    pl.DataFrame({"cell": [kept[0].key], "of": ["old"]}).write_parquet(str(store.out / "cells.parquet"))
    assert set(store.cells()["cell"]) == {cell.key for cell in kept}
    assert "of" not in store.cells().columns


def test_one_that_cannot_be_written_is_one_line(kept: list[Cell], store: Store) -> None:
    (store.out / "cells.parquet").mkdir()
    (store.out / "cells.parquet" / "in the way").touch()
    with pytest.raises(lab.StoreError, match=r"cells\.parquet: cannot be written"):
        store.compact()
    assert not list(store.out.glob("cells.[0-9]*"))


def test_the_command(kept: list[Cell], store: Store, aqmlab: Command) -> None:
    assert aqmlab("compact", "results").out == "2 cells in results/cells.parquet\n"
    assert aqmlab("compact", "nowhere").code == 2
