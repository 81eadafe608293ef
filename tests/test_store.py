from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import aqmlab as lab
from aqmlab.cell import Cell
from aqmlab.store import Store


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_cell_appears_when_it_is_complete(small_cell: Cell, store: Store) -> None:
    with store.create(small_cell) as draft:
        (draft / "queue.parquet").write_text("half")
        assert store.get(small_cell) is None
    result = store.get(small_cell)
    assert result is not None
    assert names(result.directory) == ["queue.parquet"]
    assert names(store.out / "cells") == [small_cell.key]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_nothing_is_left_of_a_cell_that_was_not_completed(
    small_cell: Cell, store: Store, error: type[BaseException]
) -> None:
    def fail() -> None:
        with store.create(small_cell) as draft:
            (draft / "queue.parquet").write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert store.get(small_cell) is None
    assert names(store.out / "cells") == []


def test_of_two_who_make_the_same_cell_the_first_wins(small_cell: Cell, store: Store) -> None:
    with store.create(small_cell) as late:
        (late / "who").write_text("late")
        with store.create(small_cell) as early:
            (early / "who").write_text("early")
    result = store.get(small_cell)
    assert result is not None
    assert (result.directory / "who").read_text() == "early"
    assert names(store.out / "cells") == [small_cell.key]


def test_a_directory_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(lab.SpecError, match=r"^out: must be a directory to write to, got .*file/results \(Not a dir"):
        Store(tmp_path / "file" / "results")


def test_a_key_follows_from_spec_seed_and_results_number(small_cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(**changes: object) -> str:
        fields = {name: getattr(small_cell, name) for name in small_cell.__dataclass_fields__}
        return Cell(**(fields | changes)).key

    assert changed(label="another label", load_percent=1.0) == small_cell.key
    assert changed(seed=2) != small_cell.key
    assert changed(spec=small_cell.spec.replace("400", "401")) != small_cell.key
    monkeypatch.setattr("aqmlab._core.engine_version", lambda: "the same engine, better commented")
    assert changed() == small_cell.key
    monkeypatch.setattr("aqmlab._core.results_number", lambda: 0)
    assert changed() != small_cell.key


def test_tables_of_all_cells_are_read_as_one(small: lab.Experiment, store: Store) -> None:
    red = small.model_copy(update={"queue": lab.QueueSpec.model_validate({"red": {}})})
    keys = {lab.run(experiment, out=store.out).cell.key for experiment in (small, red)}
    queue = store.scan("queue").collect()
    assert set(queue["cell"]) == keys
    # PI has no average and RED no p: null for the other law's cells.
    for _, of_cell in queue.group_by("cell"):
        assert sorted(of_cell.select(pl.col("p", "avg").is_null().all()).row(0)) == [False, True]
    with pytest.raises(lab.SpecError, match=r"no cell in .* has a table of this name, got 'queues'"):
        store.scan("queues")
