"""Lists of thousands of cells: work a cell that stays small, counted in files and rows.

With 20,000 cells on two cores, `aqmlab ls` took 2.1 s of processor time and 184 MB, and the console's first page 1.9 s
and 245 MB.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab
from aqmlab.cells.cell import cells_of
from aqmlab.console.cell_list import PAGE_ROWS, CellTable, View
from aqmlab.running.run import run_cell
from aqmlab.store.store import Store
from conftest import Command

CELLS = 1_200


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store of one cell that has run, and many links to its files with rows of their own in the index."""
    out = tmp_path_factory.mktemp("many") / "results"
    tiny = lab.Experiment(
        link={"rate": "2 Mbit/s"}, users={"per_side": 20}, protocol={"warmup": "0 s", "duration": "2 s"}
    )
    store = Store(out)
    first = run_cell(cells_of(tiny, [1])[0], store).directory
    keys = [f"{number:016x}" for number in range(1, CELLS)]
    for key in keys:
        (out / "cells" / key).mkdir()
        for file in first.iterdir():
            os.link(file, out / "cells" / key / file.name)
    row, stamps = store._index.rows([first.name]), store._backend.stamps(keys)
    labels = pl.Series([f"scheme-{number % 7}" for number in range(len(keys))])
    of_links = pl.concat([row] * len(keys)).with_columns(
        cell=pl.Series(keys), stamp=pl.Series([stamps[key] for key in keys]), label=labels
    )
    store._index.replace(pl.concat([row, of_links]))
    return out


_heard: list[Counter[str]] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _heard and event in ("open", "os.scandir", "os.listdir") and "/cells" in str(arguments[0]):
        _heard[-1][event] += 1


sys.addaudithook(_hear)


@contextmanager
def calls() -> Iterator[Counter[str]]:
    """Count the files that are opened, and the directories that are listed, among the cells."""
    _heard.append(Counter())
    try:
        yield _heard[-1]
    finally:
        _heard.pop()


@pytest.mark.parametrize("options", [(), ("--paths",), ("--columns", "cell,label"), ("--where", "seed=1")])
def test_a_list_of_many_cells_opens_no_file_of_a_cell(aqmlab: Command, out: Path, options: tuple[str, ...]) -> None:
    with calls() as counts:
        outcome = aqmlab("ls", str(out), *options)
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) >= CELLS
    assert counts["open"] == 0
    assert counts["os.scandir"] == CELLS
    assert counts["os.listdir"] <= 2


def test_a_page_of_many_cells_opens_no_file_of_a_cell(out: Path) -> None:
    table = CellTable()
    with calls() as counts:
        page = table.page(Store(out), View())
        shown = [row for group in page.groups for row in group.rows]
    assert (len(shown), page.total, page.pages) == (PAGE_ROWS, CELLS, -(-CELLS // PAGE_ROWS))
    assert counts["open"] == 0
    assert counts["os.scandir"] == CELLS
    with calls() as counts:
        assert table.page(Store(out), View(words="scheme-3")).total == CELLS // 7
    assert counts["os.scandir"] == 0, "no cell was added"
