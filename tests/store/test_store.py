from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.running.run import run_cell
from aqmlab.storage.integrity import finalize
from aqmlab.storage.location import Location
from aqmlab.store.store import Store
from fixtures.metadata import PLAIN


def names(directory: Location) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def write(draft: Path, cell: Cell, content: str) -> None:
    """Write the files of a minimal cell."""
    (draft / "spec.json").write_text(cell.spec.json + "\n")
    (draft / "queue.parquet").write_text(content)
    finalize(draft, {**PLAIN, "seed": cell.seed})


def ask(query: str) -> list[tuple[object, ...]]:
    return duckdb.connect().execute(query).fetchall()


def red(small: lab.Experiment) -> lab.Experiment:
    return small.model_copy(update={"queue": lab.QueueSpec.model_validate({"red": {}})})


def test_a_cell_appears_when_it_is_complete(small_cell: Cell, store: Store) -> None:
    with store.create(small_cell) as draft:
        write(draft, small_cell, "rows")
        assert store.get(small_cell) is None
        assert names(store.out / "cells") == []
    result = store.get(small_cell)
    assert result is not None
    assert names(result.directory) == ["metadata.json", "queue.parquet", "spec.json"]
    assert names(store.out / "cells") == [small_cell.key]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_nothing_is_left_of_a_cell_that_was_not_completed(
    small_cell: Cell, store: Store, error: type[BaseException]
) -> None:
    def fail() -> None:
        with store.create(small_cell) as draft:
            write(draft, small_cell, "half")
            raise error

    with pytest.raises(error):
        fail()
    assert store.get(small_cell) is None
    assert names(store.out / "cells") == names(store.out / "drafts") == []


def test_of_two_who_make_the_same_cell_the_first_wins(small_cell: Cell, store: Store) -> None:
    with store.create(small_cell) as late:
        write(late, small_cell, "late")
        with store.create(small_cell) as early:
            write(early, small_cell, "early")
    result = store.get(small_cell)
    assert result is not None
    assert (result.directory / "queue.parquet").read_text() == "early"
    assert names(store.out / "cells") == [small_cell.key]


def test_a_directory_that_cannot_be_written_to_is_refused(tmp_path: Path, small_cell: Cell) -> None:
    (tmp_path / "file").touch()
    pattern = r"^out: must be a directory to write to, got .*file/results \(Not a dir"
    with pytest.raises(lab.SpecError, match=pattern), Store(tmp_path / "file" / "results").create(small_cell):
        pass


def test_reading_no_store_writes_nothing_and_says_so(tmp_path: Path, small_cell: Cell) -> None:
    store = Store(tmp_path / "results")
    assert store.get(small_cell) is None
    assert store.count([small_cell.key]) == 0
    for read in (store.cells, lambda: store.scan("queue")):
        with pytest.raises(lab.SpecError, match=r"^out: must be a results directory, got .*/results$"):
            read()
    assert names(tmp_path) == []


def test_a_key_follows_from_spec_seed_and_results_number(small_cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(**changes: object) -> str:
        fields = {name: getattr(small_cell, name) for name in small_cell.__dataclass_fields__}
        return Cell(**(fields | changes)).key

    assert changed(label="another label", load_percent=1.0) == small_cell.key
    assert changed(seed=2) != small_cell.key
    assert changed(spec=_core.Resolved(small_cell.spec.json.replace("400", "401"))) != small_cell.key
    monkeypatch.setattr("aqmlab.running.run.engine_version", lambda: "the same engine, better commented")
    assert changed() == small_cell.key
    monkeypatch.setattr("aqmlab.cells.cell.results_number", lambda: 0)
    assert changed() != small_cell.key


def test_tables_of_all_cells_are_read_as_one(small: lab.Experiment, store: Store) -> None:
    keys = {lab.run(experiment, out=str(store.out)).cell.key for experiment in (small, red(small))}
    queue = store.scan("queue").collect()
    assert set(queue["cell"]) == keys
    # PI has no average and RED no p: null for the other law's cells.
    for _, rows in queue.group_by("cell"):
        assert sorted(rows.select(pl.col("p", "avg").is_null().all()).row(0)) == [False, True]
    with pytest.raises(lab.SpecError, match=r"no cell in .* has a table of this name, got 'queues'"):
        store.scan("queues")


def test_cells_are_one_frame_of_identity_and_measures(small: lab.Experiment, store: Store) -> None:
    results = [lab.run(small, seed=2, out=str(store.out)), lab.run(red(small), out=str(store.out))]
    cells = store.cells()
    assert cells["cell"].to_list() == [result.cell.key for result in results], "the newest last"
    for row, result in zip(cells.to_dicts(), results, strict=True):
        record = result.record()
        for name in ("label", "scheme", "load_percent", "users_per_side", "rtt", "signal", "seed", "results"):
            assert row[name] == record[name], name
        assert json.loads(row["parameters"]) == record["parameters"]
        assert row["loss_percent"] == record["loss_percent"]
        assert row["response_time_ms_p50"] == record["response_time_ms"]["p50"]
        assert Path(row["path"]) == result.directory
        assert row["bytes"] == sum(file.stat().st_size for file in result.directory.iterdir())
        assert row["created"].isoformat(timespec="milliseconds") == result.metadata["created"]
    assert not any(isinstance(kind, pl.Struct | pl.List) for kind in cells.dtypes)


def test_tables_are_joined_with_what_their_cell_is(small: lab.Experiment, store: Store) -> None:
    for experiment in (small, red(small)):
        lab.run(experiment, out=str(store.out))
    joined = store.scan("queue").join(store.cells().lazy(), on="cell").group_by("label").agg(pl.len()).collect()
    assert sorted(joined["label"]) == ["pi:q_ref=10", "red"]


def test_every_table_says_by_itself_which_cell_it_is_of(small: lab.Experiment, store: Store) -> None:
    recorded = small.model_copy(update={"record": lab.Record(exchanges=True, losses=True)})
    cell = replace(cells_of(recorded, [3], label="pi:q_ref=10 as typed")[0], load_percent=12.5)
    directory = run_cell(cell, store).directory
    identity = {
        "label": "pi:q_ref=10 as typed",
        "scheme": "pi",
        "parameters": cell.parameters,
        "load_percent": 12.5,
        "users_per_side": 400,
        "signal": "drop",
        "variant": None,
        "workload": "unc-2001-v3",
        "rtt": "uniform",
        "rate_mbps": 2.0,
        "rate_back_mbps": 2.0,
        "delay_ms": 0.5,
        "device_fifo_packets": 256,
        "chain": None,
        "tcp": "unc-testbed",
        "congestion": "reno",
        "ecn": "off",
        "traffic": None,
        "warmup_s": 5.0,
        "duration_s": 65.0,
        "seed": 3,
        "results": lab._core.results_number(),
        "world": "simulated",
        "kernel": None,
        "testbed": "unc-2003",
        "experiment": cell.experiment,
    }
    tables = sorted(directory.glob("*.parquet"))
    assert len(tables) == 6
    for table in tables:
        assert json.loads(pq.read_schema(table).metadata[b"aqmlab"]) == identity
        ((text,),) = ask(f"SELECT decode(value) FROM parquet_kv_metadata('{table}') WHERE decode(key) = 'aqmlab'")
        assert json.loads(str(text)) == identity
    columns = ", ".join(identity)
    (row,) = ask(f"SELECT {columns} FROM '{directory / 'summary.parquet'}'")
    assert row == tuple({**identity, "parameters": json.dumps(cell.parameters)}.values())


def test_the_query_of_the_guide_separates_cells_by_label(
    small: lab.Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "results.md").read_text()
    query, *_ = re.findall(r"^```sql\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    for experiment in (small, red(small)):
        lab.run(experiment)
    assert sorted(row[1:3] for row in ask(query)) == [
        (label, direction) for label in ("pi:q_ref=10", "red") for direction in (0, 1)
    ]


def test_what_has_no_load_has_a_column_for_it_all_the_same(small_cell: Cell, store: Store) -> None:
    result = run_cell(small_cell, store)
    frame = pl.read_parquet(result.directory / "summary.parquet")
    assert frame.schema["load_percent"] == pl.Float64
    assert frame["load_percent"].to_list() == [None]


def test_a_cell_has_one_key_for_all_labels_and_keeps_the_first(small_cell: Cell, store: Store) -> None:
    run_cell(small_cell, store)
    rerun = run_cell(dataclasses.replace(small_cell, label="pi as typed again"), store)
    assert rerun.record()["label"] == "pi as typed again"
    assert store.cells()["label"].to_list() == ["pi:q_ref=10"]


def test_a_cell_that_is_removed_is_gone_and_no_other(small: lab.Experiment, store: Store) -> None:
    gone, kept = (lab.run(small, seed=seed, out=str(store.out)).cell for seed in (1, 2))
    store.remove(gone.key)
    assert names(store.out / "cells") == [kept.key]
    assert names(store.out / "drafts") == []
    with pytest.raises(lab.StoreError, match=f"{gone.key}: cannot be written: No such file"):
        store.remove(gone.key)
