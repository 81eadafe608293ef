"""Stores that are no directory of this machine: fsspec's memory and files, and a server that speaks S3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import s3fs
from polars.testing import assert_frame_equal

import aqmlab as lab
from aqmlab.campaigns.failures import Failures
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import Cell
from aqmlab.running import sweep as sweeping
from aqmlab.running.run import run_cell
from aqmlab.storage import io, marker
from aqmlab.storage.directory import Directory
from aqmlab.storage.location import location
from aqmlab.store import index
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from conftest import Command
from custom_laws import importable, law
from fixtures.places import GRID, TINY, bytes_of, files_below


def of_what_was_measured(cells: pl.DataFrame) -> pl.DataFrame:
    """Leave out what every machine and moment has of its own."""
    return cells.drop("path", "bytes", "created").sort("cell")


def test_a_run_has_the_tables_of_a_local_one_to_the_byte(place: str, tiny: lab.Experiment, tmp_path: Path) -> None:
    remote, local = lab.run(tiny, out=place), lab.run(tiny, out=tmp_path / "here")
    assert bytes_of(remote) == bytes_of(local)
    assert remote.summary == local.summary
    assert_frame_equal(remote.queue, local.queue)
    assert remote.record()["cell"] == f"{place}/cells/{remote.cell.key}"
    assert lab.run(tiny, out=place).metadata == remote.metadata, "it is not run a second time"
    files = [f"cells/{remote.cell.key}/{file.name}" for file in local.location.iterdir()]
    *cell_files, segment = sorted(files_below(place), key=lambda name: name.startswith(index.FOLDER))
    assert cell_files == sorted([marker.NAME, *files])
    assert segment.startswith(f"{index.FOLDER}/1-")


def test_a_results_directory_has_all_files_on_this_machine(place: str, cell: Cell) -> None:
    result = run_cell(cell, Store(place))
    assert {file.name: file.read_bytes() for file in result.directory.iterdir()} == {
        file.name: file.read_bytes() for file in result.location.iterdir()
    }
    assert lab.explain(result.directory).requests.height == result.summary["completed_requests"]


def test_a_comparison_and_its_store_are_those_of_a_local_one(place: str, tiny: lab.Experiment, tmp_path: Path) -> None:
    remote, local = (
        lab.compare("droptail:limit=50", "pi", experiment=tiny, seeds=[1, 2], out=out)
        for out in (place, tmp_path / "here")
    )
    assert [bytes_of(result) for result in remote.results] == [bytes_of(result) for result in local.results]
    stores = Store(place), Store(tmp_path / "here")
    there_cells, here_cells = (of_what_was_measured(store.cells()) for store in stores)
    assert_frame_equal(there_cells, here_cells)
    assert (stores[0].cells()["bytes"] > 10_000).all()
    remote_queue, local_queue = (store.scan("queue").collect().sort("cell", maintain_order=True) for store in stores)
    assert_frame_equal(remote_queue, local_queue)
    key = remote.results[0].cell.key
    kept = stores[0].get_by_key(key)
    assert kept is not None
    assert (kept.cell.key, kept.summary) == (key, remote.results[0].summary)
    stores[0].remove(key)
    assert stores[0].get_by_key(key) is None
    assert key not in stores[0].cells()["cell"]
    assert files_below(place, f"cells/{key}") == []


def test_shards_of_a_sweep_meet_there(place: str, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        lab.sweep(GRID, seeds=[1, 2], out=place, shard=f"{number}/3")
    before = Store(place).cells()
    whole = lab.sweep(GRID, seeds=[1, 2], out=place)
    assert whole.cells["state"].to_list() == ["done"] * 4
    assert_frame_equal(Store(place).cells(), before)
    local = lab.sweep(GRID, seeds=[1, 2], out=tmp_path / "here")
    assert_frame_equal(whole.means, local.means)


def test_a_failure_is_kept_there_until_it_is_tried_again(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(cell: Cell, *arguments: Any, **options: Any) -> Result:
        if cell.seed == 2:
            raise ValueError("two is bad")
        return run_cell(cell, *arguments, **options)

    monkeypatch.setattr(sweeping, "run_cell", failing)
    failed = lab.sweep(GRID, seeds=[1, 2], out=place)
    assert failed.cells["state"].to_list() == ["done", "failed"] * 2
    assert {failure.error for failure in failed.failures} == {"two is bad"}
    monkeypatch.setattr(sweeping, "run_cell", run_cell)
    assert lab.sweep(GRID, seeds=[1, 2], out=place).cells["state"].to_list() == ["done", "failed"] * 2
    assert lab.sweep(GRID, seeds=[1, 2], out=place, retry=True).cells["state"].to_list() == ["done"] * 4
    assert Failures(location(place)).load() == {}


@pytest.fixture
def requests(bucket: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the requests to S3."""
    calls: list[str] = []
    ask = s3fs.S3FileSystem._call_s3

    async def count_calls(self: s3fs.S3FileSystem, method: str, *arguments: Any, **options: Any) -> Any:
        calls.append(method)
        return await ask(self, method, *arguments, **options)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", count_calls)
    return calls


def test_what_an_index_has_is_not_asked_for_again(bucket: str, requests: list[str]) -> None:
    out, counts = f"s3://{bucket}", []
    for seeds in ([1, 2], [1, 2, 3, 4, 5]):
        lab.sweep(GRID, seeds=seeds, out=out, workers=2)
        store = Store(out)
        assert store.compact() == 2 * len(seeds)
        requests.clear()
        assert store.cells().height == 2 * len(seeds)
        counts.append(sorted(requests))
    assert counts[0] == counts[1], "the number of requests grows with the cells"
    assert len(counts[0]) <= 4


def test_no_more_is_fetched_than_metadata_and_summary(bucket: str, requests: list[str]) -> None:
    out = f"s3://{bucket}"
    lab.sweep(GRID, seeds=[1, 2], out=out)
    io._copies.cache_clear()
    requests.clear()
    assert Store(out).cells().height == 4
    assert requests.count("get_object") == 4, "the segments of the index"
    assert len(requests) <= 4 + 4, "listings, and the index"
    for name in files_below(out, index.FOLDER):
        io.remove(location(out), f"{index.FOLDER}/{name}")
    requests.clear()
    assert Store(out).cells().height == 4
    assert requests.count("get_object") == 2 * 4
    assert len(requests) <= 6 + 2 * 4, "listings, and an index that is not there"
    requests.clear()
    lab.sweep(GRID, seeds=[1, 2], out=out)
    assert requests.count("get_object") == 1 + 4, "the marker, and each cell once"
    assert not {"put_object", "delete_object"} & set(requests)


def test_each_kept_cell_is_looked_at_once_when_a_sweep_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.sweep(GRID, seeds=[1, 2], out=tmp_path)
    looked: list[str] = []
    read = Directory.read

    def count_calls(self: Directory, keys: list[str]) -> Any:
        looked.extend(keys)
        return read(self, keys)

    monkeypatch.setattr(Directory, "read", count_calls)
    lab.sweep(GRID, seeds=[1, 2], out=tmp_path, progress=True)
    assert len(looked) == len(set(looked)) == 4


def test_a_calibration_is_kept_there(place: str) -> None:
    line = next(iter(calibration_model.load_calibrations().values())).model_copy(update={"mbps_per_user": 1.0})
    calibration_model.store(line, location(place))
    assert calibration_model.load_calibrations(place)[line.key] == line


def test_laws_in_python_run_in_the_process_that_has_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = importable(law("def on_enqueue(self, packet, queue, now):\n    return 'pass'"), tmp_path, monkeypatch)
    grid = lab.Grid(set=TINY, schemes=[f"{name}:MyLaw"])
    assert lab.sweep(grid, seeds=[1], out=f"memory://{name}").cells["state"].to_list() == ["done"]


def test_the_commands_go_there(aqmlab: Command, place: str, tmp_path: Path) -> None:
    short = ("--users", "20", "--warmup", "0 s", "--duration", "2 s", "--seeds", "1")
    before = {path.name for path in tmp_path.iterdir()}
    outcome = aqmlab("compare", *short, "--out", place, "pi", "droptail")
    assert outcome.code == 0, outcome.err
    assert all(Path(line).is_relative_to("results/figures") for line in outcome.out.splitlines()[-4:])
    (tmp_path / "grid.toml").write_text(f'set = {json.dumps(TINY)}\nschemes = ["codel", "pie"]\n')
    assert aqmlab("sweep", "grid.toml", "--seeds", "1", "--out", place).code == 0
    assert len(json.loads(aqmlab("ls", place, "--json").out)) == 5
    assert aqmlab("compact", place).out == f"5 cells in {place}/index\n"
    assert aqmlab("report", "--scheme", "pi", "--scheme", "droptail", "--out", place).code == 0
    assert aqmlab("report", "--out", place, "-o", "again.html").code == 0
    assert "droptail" in (tmp_path / "report.html").read_text()
    assert aqmlab("rm", place, "--scheme", "pi", "--yes").code == 0
    assert len(aqmlab("ls", place, "--paths").out.splitlines()) == 4
    new = {path.name for path in tmp_path.iterdir()} - before
    assert new == {"results", "grid.toml", "report.html", "again.html"}
