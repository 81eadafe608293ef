"""The index of a store: what it says is what the cells say, and lists are made of it without opening a cell."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import aqmlab as lab
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.running.run import run_cell
from aqmlab.storage.integrity import METADATA
from aqmlab.store import index
from aqmlab.store import store as stores
from aqmlab.store.store import Store
from conftest import Command


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the upkeep that this process has done for other stores."""
    monkeypatch.setattr(stores, "_MAINTAINED", set())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Cell]]:
    """The files of a cell that has run, and ten cells that may be made of them."""
    tiny = lab.Experiment(
        link={"rate": "2 Mbit/s"}, users={"per_side": 50}, protocol={"warmup": "0 s", "duration": "3 s"}
    )
    cells = cells_of(tiny, range(1, 11))
    return run_cell(cells[0], Store(tmp_path_factory.mktemp("made") / "results")).directory, cells


def make(store: Store, cell: Cell, files: Path) -> None:
    """Make a cell of the files of another, which takes no time."""
    with store.create(cell) as directory:
        for file in files.iterdir():
            shutil.copy(file, directory)


@pytest.fixture
def stored_cells(template: tuple[Path, list[Cell]], store: Store) -> list[Cell]:
    """Three cells that are in the store."""
    for cell in template[1][:3]:
        make(store, cell, template[0])
    return template[1][:3]


def segments(store: Store) -> list[Path]:
    return sorted(Path(str(store.out), index.FOLDER).iterdir())


def without_index(store: Store) -> pl.DataFrame:
    """Read the cells of a store one by one: what is right."""
    folder, away = Path(str(store.out), index.FOLDER), Path(str(store.out), "away")
    if folder.exists():
        folder.rename(away)
    try:
        return Store(store.out).cells()
    finally:
        if away.exists():
            away.rename(folder)


_counting: list[list[str]] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _counting:
        _counting[-1].append(str(arguments[0]))


sys.addaudithook(_hear)


@contextmanager
def files_opened() -> Iterator[list[str]]:
    """List the files that this process opens."""
    _counting.append([])
    try:
        yield _counting[-1]
    finally:
        _counting.pop()


def test_a_list_of_cells_opens_none_of_them(stored_cells: list[Cell], store: Store) -> None:
    with files_opened() as opened_files:
        rows = Store(store.out).cells()
    assert rows["cell"].sort().to_list() == sorted(cell.key for cell in stored_cells)
    assert [Path(file).parent.name for file in opened_files if str(store.out) in file] == [index.FOLDER] * 3
    with files_opened() as opened_files:
        unindexed = without_index(store)
    assert sum("/cells/" in file for file in opened_files) > 3
    assert_frame_equal(rows, unindexed)


def test_hundreds_of_cells_are_a_few_segments(template: tuple[Path, list[Cell]], store: Store) -> None:
    files, (first, *_) = template
    for seed in range(1, 61):
        make(store, replace(first, seed=seed), files)
    assert sorted(int(file.name.partition("-")[0]) for file in segments(store)) == [*[1] * 12, 16, 16, 16]
    with files_opened() as opened_files:
        assert Store(store.out).cells().height == 60
    assert sum(str(store.out) in file for file in opened_files) == 15


def test_columns_that_are_asked_for_are_alone(stored_cells: list[Cell], store: Store) -> None:
    whole = store.cells()
    for columns in (["cell", "seed"], ["path", "queue_packets_mean"], ["created", "created"]):
        assert_frame_equal(store.cells(columns), whole.select(list(dict.fromkeys(columns))))
    with pytest.raises(lab.SpecError, match=r"^columns: must be columns of a cell, got 'sed'; did you mean 'seed'\?$"):
        store.cells(["sed"])


def replaced(cell: Path) -> Path:
    """Remove a cell for something else in its place."""
    shutil.rmtree(cell)
    return cell


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file is gone": lambda cell: (cell / "queue.parquet").unlink(missing_ok=True),
    "a file is shorter": lambda cell: os.truncate(cell / "link.parquet", 100),
    "a summary is another": lambda cell: (cell / "summary.parquet").write_bytes(b"0" * 100),
    "metadata are another": lambda cell: (cell / METADATA).write_text("{}"),
    "metadata are gone": lambda cell: (cell / METADATA).unlink(missing_ok=True),
    "a link is in its place": lambda cell: replaced(cell).symlink_to("nowhere"),
    "a file is in its place": lambda cell: replaced(cell).write_text(""),
}

STEPS = st.lists(
    st.tuples(st.sampled_from(["make", "remove", "compact", "lose", "moved", *CHANGES]), st.integers(0, 9)), max_size=25
)


@settings(max_examples=40)
@given(steps=STEPS, merged=st.sampled_from([2, 3, 16]))
def test_the_index_says_what_the_cells_say(
    steps: list[tuple[str, int]],
    merged: int,
    template: tuple[Path, list[Cell]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files, cells = template
    out = tmp_path_factory.mktemp("store")
    # Two writers, of which each looks through the index the first time.
    writers = Store(out), Store(out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_MERGE_COUNT", merged)
        for number, (step, choice) in enumerate(steps):
            store, directory = writers[number % 2], out / "cells" / cells[choice].key
            stores._MAINTAINED.clear()
            if step == "make":
                make(store, cells[choice], files)
            elif step == "compact" and (out / "cells").is_dir():
                store.compact()
            elif step == "lose":
                shutil.rmtree(out / index.FOLDER, ignore_errors=True)
            elif os.path.lexists(directory):
                if step == "remove":
                    store.remove(cells[choice].key)
                elif not directory.is_dir():
                    continue
                elif step == "moved":
                    os.utime(directory / "spec.json", (number, number))
                else:
                    CHANGES[step](directory)
            if (out / "cells").is_dir():
                assert_frame_equal(Store(out).cells(), without_index(store))


def test_two_writers_at_once_lose_no_cell(template: tuple[Path, list[Cell]], store: Store) -> None:
    files, (first, *_) = template

    def write(seeds: range) -> None:
        second_store = Store(store.out)
        for seed in seeds:
            make(second_store, replace(first, seed=seed), files)

    threads = [threading.Thread(target=write, args=(range(start, start + 20),)) for start in (1, 21, 41)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if Path(str(store.out), "cells").is_dir():
            assert Store(store.out).cells()["cell"].is_unique().all()
    with files_opened() as opened_files:
        assert Store(store.out).cells().height == 60
    assert not [file for file in opened_files if "/cells/" in file]


def test_the_next_writer_makes_an_index_that_is_lost(
    stored_cells: list[Cell], template: tuple[Path, list[Cell]], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(Path(str(store.out), index.FOLDER))
    before = {path: path.stat().st_mtime_ns for path in Path(str(store.out)).rglob("*")}
    Store(store.out).cells()
    assert before == {path: path.stat().st_mtime_ns for path in Path(str(store.out)).rglob("*")}, "reading writes"
    monkeypatch.setattr(stores, "_MAINTAINED", set())
    make(Store(store.out), template[1][5], template[0])
    with files_opened() as opened_files:
        assert Store(store.out).cells().height == 4
    assert not [file for file in opened_files if "/cells/" in file]


def test_a_damaged_cell_is_named_by_readers_and_not_by_writers(
    stored_cells: list[Cell], template: tuple[Path, list[Cell]], store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    (store.out / "cells" / stored_cells[0].key / "link.parquet").unlink()
    stores._MAINTAINED.clear()
    make(Store(store.out), template[1][5], template[0])
    assert caplog.messages == []
    assert Store(store.out).cells().height == 3
    (line,) = caplog.messages
    assert line.endswith("link.parquet is damaged: no such file or directory; the cell is left out")


def test_it_can_be_moved_with_its_cells(stored_cells: list[Cell], store: Store, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.move(str(store.out), moved)
    with files_opened() as opened_files:
        assert all(Path(path).is_dir() for path in Store(moved).cells()["path"])
    assert not [file for file in opened_files if "/cells/" in file]


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", None, "of no cell"])
def test_a_damaged_segment_is_left_out_in_one_line(
    stored_cells: list[Cell], store: Store, content: bytes | str | None, caplog: pytest.LogCaptureFixture
) -> None:
    whole = store.cells()
    (file, *_) = segments(store)
    if content is None:
        file.write_bytes(file.read_bytes()[:-100])
    elif isinstance(content, bytes):
        file.write_bytes(content)
    else:
        nameless = pl.read_parquet(file).with_columns(label=pl.lit(None, pl.String))
        nameless.write_parquet(file, metadata={"aqmlab": index._FORM})
    with caplog.at_level(logging.WARNING, "aqmlab"):
        assert_frame_equal(store.cells(), whole)
    (line,) = caplog.messages
    assert line.startswith(f"{file} is damaged and left out: ")
    store.compact()
    caplog.clear()
    assert_frame_equal(store.cells(), whole)
    assert caplog.messages == []


def test_a_segment_of_another_form_is_left_out(stored_cells: list[Cell], store: Store) -> None:
    name = f"1-{'0' * 16}.parquet"
    pl.DataFrame({"cell": [stored_cells[0].key], "of": ["old"]}).write_parquet(
        str(Path(str(store.out), index.FOLDER) / name)
    )
    assert set(store.cells()["cell"]) == {cell.key for cell in stored_cells}
    assert "of" not in store.cells().columns


def test_an_index_that_cannot_be_written_loses_no_cell(
    template: tuple[Path, list[Cell]], store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.init()
    Path(str(store.out), index.FOLDER).write_text("in the way")
    make(store, template[1][0], template[0])
    assert caplog.messages[-1].endswith("; lists of cells take longer")
    assert store.cells()["cell"].to_list() == [template[1][0].key]
    with pytest.raises(lab.StoreError, match=r"results/index.*: cannot be written"):
        store.compact()


def test_compact_makes_one_segment(stored_cells: list[Cell], store: Store, aqmlab: Command) -> None:
    assert len(segments(store)) == 3
    assert aqmlab("compact", "results").out == "3 cells in results/index\n"
    assert len(segments(store)) == 1
    assert aqmlab("compact", "nowhere").code == 2
