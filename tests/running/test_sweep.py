from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from aqmlab.cells.cell import Cell
from aqmlab.running.sweep import sweep
from aqmlab.store.store import Store


@pytest.fixture
def cells(small_cell: Cell) -> list[Cell]:
    return [replace(small_cell, seed=seed) for seed in (3, 1, 2)]


def test_results_come_in_the_order_of_the_cells(cells: list[Cell], store: Store) -> None:
    results = sweep(cells, store, workers=2)
    assert [result.cell.seed for result in results] == [3, 1, 2]


def test_the_number_of_workers_changes_no_result(cells: list[Cell], store: Store) -> None:
    side_by_side = sweep(cells, store, workers=3)
    one_by_one = sweep(cells, Store(store.out / "again"), workers=1)
    for parallel, serial in zip(side_by_side, one_by_one, strict=True):
        for file in parallel.directory.glob("*.parquet"):
            assert file.read_bytes() == (serial.directory / file.name).read_bytes()


def test_identical_cells_are_run_once_and_keep_their_labels(small_cell: Cell, store: Store) -> None:
    ends = []
    twins = [small_cell, replace(small_cell, label="the twin")]
    results = sweep(twins, store, watch=lambda cell, now, end: ends.append(cell) if now >= end else None)
    assert len(ends) == 1
    assert [result.cell.label for result in results] == [small_cell.label, "the twin"]
    assert results[0].directory == results[1].directory


class _Failure(Exception):
    """An error that no barrier raises."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, _Failure])
def test_an_interrupt_ends_all_cells_and_leaves_none_partial(
    cells: list[Cell], store: Store, error: type[BaseException]
) -> None:
    both_run = threading.Barrier(2, timeout=60)
    last: dict[int, float] = {}

    def watch(cell: Cell, now: float, end: float) -> None:
        last[cell.seed] = now
        # The third cell may start before the error reaches the sweep: it passes no barrier, and is slow.
        if cell is cells[2]:
            time.sleep(0.05)
        elif now == 10:
            both_run.wait()
            if cell is cells[0]:
                raise error

    with pytest.raises(error):
        sweep(cells, store, workers=2, watch=watch)
    assert all(now < 70 for now in last.values())
    assert list((store.out / "cells").iterdir()) == []
