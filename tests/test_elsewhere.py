"""Stores that are no directory of this machine: fsspec's memory and files, and a server that speaks S3."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
import polars as pl
import pytest
import s3fs
from polars.testing import assert_frame_equal

import aqmlab as lab
from aqmlab.campaigns.failures import Failures
from aqmlab.results.result import Result
from aqmlab.running import run as running
from aqmlab.running import sweep as sweeping
from aqmlab.running.calibration import lines
from aqmlab.running.cell import Cell, cells_of
from aqmlab.running.files import content, objects
from aqmlab.running.files.directory import Directory
from aqmlab.running.files.location import location
from aqmlab.running.integrity import METADATA, Damaged
from aqmlab.running.run import run_cell
from aqmlab.running.store import Store
from conftest import Command

TINY = ["link.rate=2 Mbit/s", "users.per_side=50", "protocol.warmup=0 s", "protocol.duration=3 s"]
GRID = lab.Grid(set=TINY, schemes=["droptail:limit=50", "pi:ecn=true"])
TABLES = ("summary", "queue", "link", "response_times")


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that speaks S3, in a process of its own."""
    log = tmp_path_factory.mktemp("s3") / "log"
    with log.open("w") as said:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        with subprocess.Popen(command, stdout=said, stderr=said) as server:
            try:
                while not (found := re.search(r"Running on (\S+)", log.read_text())):
                    assert server.poll() is None, log.read_text()
                    time.sleep(0.05)
                yield found[1]
            finally:
                server.kill()


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A bucket there, which the environment says how to reach."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    # Else they ask the network, and ask again.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    # What one of these has learnt of the environment it keeps.
    s3fs.S3FileSystem.clear_instance_cache()
    name = f"bucket-{uuid4()}"
    s3fs.S3FileSystem().mkdir(name)
    yield name
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture(params=["memory", "file", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty place."""
    if request.param == "memory":
        return f"memory://{uuid4()}/results"
    if request.param == "file":
        (tmp_path / "there").mkdir()
        return f"file://{tmp_path}/there"
    return f"s3://{request.getfixturevalue('bucket')}/results"


@pytest.fixture
def tiny() -> lab.Experiment:
    return lab.Experiment(
        link={"rate": "2 Mbit/s"}, users={"per_side": 50}, protocol={"warmup": "0 s", "duration": "3 s"}
    )


@pytest.fixture
def cell(tiny: lab.Experiment) -> Cell:
    return cells_of(tiny, [1])[0]


def bytes_of(result: Result) -> dict[str, bytes]:
    return {name: (result.place / f"{name}.parquet").read_bytes() for name in TABLES}


def files_below(place: str, folder: str = "") -> list[str]:
    fs, path = fsspec.url_to_fs(f"{place}/{folder}")
    fs.invalidate_cache()
    return sorted(file.removeprefix(path.rstrip("/") + "/") for file in fs.find(path))


def of_what_was_measured(cells: pl.DataFrame) -> pl.DataFrame:
    """Leave out what every machine and moment has of its own."""
    return cells.drop("path", "bytes", "created").sort("cell")


def test_a_run_has_the_tables_of_a_local_one_to_the_byte(place: str, tiny: lab.Experiment, tmp_path: Path) -> None:
    there, here = lab.run(tiny, out=place), lab.run(tiny, out=tmp_path / "here")
    assert bytes_of(there) == bytes_of(here)
    assert there.summary == here.summary
    assert_frame_equal(there.queue, here.queue)
    assert there.record()["cell"] == f"{place}/cells/{there.cell.key}"
    assert lab.run(tiny, out=place).metadata == there.metadata, "it is not run a second time"
    assert files_below(place) == sorted(f"cells/{there.cell.key}/{file.name}" for file in here.place.iterdir())


def test_the_directory_of_a_result_has_all_its_files_on_this_machine(place: str, cell: Cell) -> None:
    result = run_cell(cell, Store(place))
    assert {file.name: file.read_bytes() for file in result.directory.iterdir()} == {
        file.name: file.read_bytes() for file in result.place.iterdir()
    }
    assert lab.explain(result.directory).requests.height == result.summary["completed_requests"]


def test_a_comparison_and_its_store_are_those_of_a_local_one(place: str, tiny: lab.Experiment, tmp_path: Path) -> None:
    there, here = (
        lab.compare("droptail:limit=50", "pi", experiment=tiny, seeds=[1, 2], out=out)
        for out in (place, tmp_path / "here")
    )
    assert [bytes_of(result) for result in there.results] == [bytes_of(result) for result in here.results]
    stores = Store(place), Store(tmp_path / "here")
    there_cells, here_cells = (of_what_was_measured(store.cells()) for store in stores)
    assert_frame_equal(there_cells, here_cells)
    assert (stores[0].cells()["bytes"] > 10_000).all()
    ours, theirs = (store.scan("queue").collect().sort("cell", maintain_order=True) for store in stores)
    assert_frame_equal(ours, theirs)
    key = there.results[0].cell.key
    kept = stores[0].kept(key)
    assert kept is not None
    assert (kept.cell.key, kept.summary) == (key, there.results[0].summary)
    stores[0].remove(key)
    assert stores[0].kept(key) is None
    assert key not in stores[0].cells()["cell"]
    assert files_below(place, f"cells/{key}") == []


def test_shards_of_a_sweep_meet_there(place: str, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        lab.sweep(GRID, seeds=[1, 2], out=place, shard=f"{number}/3")
    before = Store(place).cells()
    whole = lab.sweep(GRID, seeds=[1, 2], out=place)
    assert whole.cells["state"].to_list() == ["done"] * 4
    assert_frame_equal(Store(place).cells(), before)
    here = lab.sweep(GRID, seeds=[1, 2], out=tmp_path / "here")
    assert_frame_equal(whole.means, here.means)


def test_a_failure_is_kept_there_until_it_is_tried_again(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(cell: Cell, *more: Any, **others: Any) -> Result:
        if cell.seed == 2:
            raise ValueError("two is bad")
        return run_cell(cell, *more, **others)

    monkeypatch.setattr(sweeping, "run_cell", failing)
    failed = lab.sweep(GRID, seeds=[1, 2], out=place)
    assert failed.cells["state"].to_list() == ["done", "failed"] * 2
    assert {failure.error for failure in failed.failures} == {"two is bad"}
    monkeypatch.setattr(sweeping, "run_cell", run_cell)
    assert lab.sweep(GRID, seeds=[1, 2], out=place).cells["state"].to_list() == ["done", "failed"] * 2
    assert lab.sweep(GRID, seeds=[1, 2], out=place, retry=True).cells["state"].to_list() == ["done"] * 4
    assert Failures(location(place)).known() == {}


@pytest.mark.parametrize("name", ["link.parquet", "summary.parquet", METADATA])
def test_a_cell_whose_copying_ends_before_its_metadata_is_not_there(
    place: str, cell: Cell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = Store(place)
    filesystem = location(place).fs  # type: ignore[union-attr]
    copy, write = filesystem.put_file, filesystem.pipe_file

    def fails_at(method: Callable[..., Any]) -> Callable[..., Any]:
        def ends(*arguments: Any, **more: Any) -> Any:
            if str(arguments[0]).endswith(name):
                raise KeyboardInterrupt
            return method(*arguments, **more)

        return ends

    with monkeypatch.context() as interrupted:
        interrupted.setattr(filesystem, "put_file", fails_at(copy))
        interrupted.setattr(filesystem, "pipe_file", fails_at(write))
        with pytest.raises(KeyboardInterrupt):
            run_cell(cell, store)
    assert f"{cell.key}/{name}" not in files_below(place, "cells")
    assert store.get(cell) is None
    assert store.kept(cell.key) is None
    assert store.cells().is_empty()
    assert run_cell(cell, store).queue.height > 0
    assert store.cells()["cell"].to_list() == [cell.key]


def test_a_run_that_fails_leaves_nothing(place: str, cell: Cell) -> None:
    def watch(now: float, end: float) -> None:
        assert files_below(place) == [f"drafts/{cell.key}"]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run_cell(cell, Store(place), watch)
    assert files_below(place) == []


def test_of_two_who_make_the_same_cell_the_first_wins(place: str, cell: Cell) -> None:
    first: list[Result] = []

    def watch(now: float, end: float) -> None:
        if now >= end and not first:
            first.append(run_cell(cell, Store(place)))

    second = run_cell(cell, Store(place), watch)
    assert second.metadata == first[0].metadata
    assert second.queue.height > 0


def test_metadata_are_never_written_over_others(
    place: str, cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where both look before either has written them, as machines do."""
    first = run_cell(cell, Store(place))
    store = Store(place)
    monkeypatch.setattr(objects.Objects, "_is_there", lambda self, marker: False)
    with store.create(cell) as draft:
        for file in first.place.iterdir():
            if file.name == METADATA:
                (draft / METADATA).write_text("{}")
            else:
                (draft / file.name).write_bytes(file.read_bytes())
    kept = store.get(cell)
    assert kept is not None
    assert kept.metadata == first.metadata


def damage(result: Result, name: str, change: Callable[[bytes], bytes] | None) -> None:
    file = result.place / name
    content = file.read_bytes()
    file.unlink()
    if change is not None:
        file.write_bytes(change(content))


@pytest.mark.parametrize("name", ["queue.parquet", METADATA])
@pytest.mark.parametrize("change", [lambda content: content[: len(content) // 2], lambda content: b"", None])
def test_a_damaged_cell_is_set_aside_and_run_again(
    place: str, cell: Cell, name: str, change: Callable[[bytes], bytes] | None, caplog: pytest.LogCaptureFixture
) -> None:
    first = run_cell(cell, Store(place))
    tables = bytes_of(first)
    damage(first, name, change)
    assert bytes_of(run_cell(cell, Store(place))) == tables
    if (name, change) == (METADATA, None):
        # It was no cell any more.
        assert files_below(place, "damaged") == []
        return
    assert len(files_below(place, "damaged")) == len(first.files) + (name == METADATA or change is not None)
    (line,) = caplog.messages
    assert line.startswith(f"{place}/cells/{cell.key}/{name} is damaged: ")
    assert line.endswith(f"; the cell is set aside as {place}/damaged/{cell.key} and run again")


def test_what_is_damaged_again_is_kept_beside_the_first(place: str, cell: Cell) -> None:
    for _ in range(3):
        damage(run_cell(cell, Store(place)), "queue.parquet", lambda content: b"")
    run_cell(cell, Store(place))
    kept = {file.partition("/")[0] for file in files_below(place, "damaged")}
    assert kept == {cell.key, f"{cell.key}-2", f"{cell.key}-3"}


def test_a_table_of_other_bytes_is_damage_when_it_is_read(
    place: str, cell: Cell, tiny: lab.Experiment, caplog: pytest.LogCaptureFixture
) -> None:
    other = lab.run(tiny, seed=2, out=place)
    result = run_cell(cell, Store(place))
    for name in ("queue.parquet", "summary.parquet"):
        damage(result, name, lambda content: content[:-1] + bytes([content[-1] ^ 1]))
    # What this process has read before it goes by.
    content._copies.cache_clear()
    again = Store(place).get(cell)
    assert again is not None
    assert again.link.height > 0
    with pytest.raises(Damaged, match=rf"^{place}/cells/{cell.key}/queue\.parquet is damaged: its checksum .* run it"):
        _ = again.queue
    assert Store(place).cells()["cell"].to_list() == [other.cell.key]
    assert caplog.messages == [
        f"{place}/cells/{cell.key}/summary.parquet is damaged: its checksum is not that of what was written;"
        " the cell is left out"
    ]


@pytest.fixture
def requests(bucket: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What S3 is asked."""
    asked: list[str] = []
    ask = s3fs.S3FileSystem._call_s3

    async def counted(self: s3fs.S3FileSystem, method: str, *arguments: Any, **more: Any) -> Any:
        asked.append(method)
        return await ask(self, method, *arguments, **more)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", counted)
    return asked


def test_what_an_index_has_is_not_asked_for_again(bucket: str, requests: list[str]) -> None:
    out, counts = f"s3://{bucket}", []
    for seeds in ([1, 2], [1, 2, 3, 4, 5]):
        lab.sweep(GRID, seeds=seeds, out=out, workers=2)
        store = Store(out)
        assert store.compact() == 2 * len(seeds)
        requests.clear()
        assert store.cells().height == 2 * len(seeds)
        counts.append(sorted(requests))
    assert counts[0] == counts[1], "whatever the number of cells"
    assert len(counts[0]) <= 4


def test_no_more_is_fetched_than_metadata_and_summary(bucket: str, requests: list[str]) -> None:
    out = f"s3://{bucket}"
    lab.sweep(GRID, seeds=[1, 2], out=out)
    content._copies.cache_clear()
    requests.clear()
    assert Store(out).cells().height == 4
    assert requests.count("get_object") == 2 * 4
    assert len(requests) <= 4 + 2 * 4, "listings, and an index that is not there"
    requests.clear()
    lab.sweep(GRID, seeds=[1, 2], out=out)
    assert requests.count("get_object") == 4, "each cell is looked at once"
    assert not {"put_object", "delete_object"} & set(requests)


def test_each_kept_cell_is_looked_at_once_when_a_sweep_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.sweep(GRID, seeds=[1, 2], out=tmp_path)
    looked: list[str] = []
    read = Directory.read

    def counted(self: Directory, keys: list[str]) -> Any:
        looked.extend(keys)
        return read(self, keys)

    monkeypatch.setattr(Directory, "read", counted)
    lab.sweep(GRID, seeds=[1, 2], out=tmp_path, progress=True)
    assert len(looked) == len(set(looked)) == 4


def deny(bucket: str, action: str) -> None:
    statement = {"Effect": "Deny", "Principal": "*", "Action": action, "Resource": f"arn:aws:s3:::{bucket}/*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    s3fs.S3FileSystem().call_s3("put_bucket_policy", Bucket=bucket, Policy=policy)


def test_a_refused_write_ends_a_sweep_before_it_runs_and_fails_no_cell(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = f"s3://{bucket}/results"
    lab.sweep(GRID, seeds=[1], out=out)
    deny(bucket, "s3:PutObject")
    monkeypatch.setattr(running, "_simulate", lambda *_: pytest.fail("it runs"))
    with pytest.raises(lab.StoreError, match=rf"^{out}/drafts/\w+: cannot be written: ") as refused:
        lab.sweep(GRID, seeds=[1, 2], out=out)
    assert "\n" not in str(refused.value)
    assert Failures(location(out)).known() == {}
    assert Store(out).cells().height == 2
    with pytest.raises(lab.StoreError, match=r"/cells\.parquet: cannot be written: "):
        Store(out).compact()


def test_a_damaged_cell_that_cannot_be_set_aside_is_one_line(bucket: str, cell: Cell) -> None:
    out = f"s3://{bucket}"
    damage(run_cell(cell, Store(out)), "queue.parquet", lambda content: b"")
    deny(bucket, "s3:PutObject")
    advice = rf"remove {out}/cells/{cell.key}, which cannot be set aside \("
    with pytest.raises(lab.StoreError, match=rf"queue\.parquet is damaged: it has 0 bytes.*; {advice}"):
        Store(out).get(cell)


def test_a_bucket_that_is_not_there_is_one_line_and_is_not_made(bucket: str, tiny: lab.Experiment) -> None:
    for use in (lambda: lab.run(tiny, out="s3://mistyped/results"), lambda: Store("s3://mistyped").cells()):
        with pytest.raises(lab.StoreError, match=r"^s3://mistyped\S*: cannot be read: The specified bucket does not"):
            use()
    with pytest.raises(lab.StoreError, match=r"^s3://mistyped/x: cannot be written: The specified bucket does not"):
        content.put(location("s3://mistyped"), "x", b"")
    assert "mistyped" not in s3fs.S3FileSystem().ls("")


def test_no_credentials_and_nobody_there_are_one_line(
    bucket: str, monkeypatch: pytest.MonkeyPatch, tiny: lab.Experiment, aqmlab: Command
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises((lab.StoreError, lab.SpecError), match=r"^s3://.*: cannot be .*: Unable to locate credentials$"):
        lab.run(tiny, out=f"s3://{bucket}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    s3fs.S3FileSystem.clear_instance_cache()
    outcome = aqmlab("ls", f"s3://{bucket}")
    assert outcome.code == 1
    assert re.fullmatch(r"aqmlab: s3://\S+: cannot be read: Could not connect to the endpoint URL: .*\n", outcome.err)


def test_what_nobody_speaks_is_one_line(monkeypatch: pytest.MonkeyPatch, tiny: lab.Experiment, aqmlab: Command) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(lab.SpecError, match=r"^out: gs://b/p needs a package .*: pip install 'gcsfs'$"):
        lab.run(tiny, out="gs://b/p")
    with pytest.raises(lab.SpecError, match=r"^out: must be a directory or a URL that fsspec knows, got 'nfs4://b' \("):
        Store("nfs4://b")
    outcome = aqmlab("compare", "--out", "nfs4://b", "pi")
    assert (outcome.code, outcome.out) == (2, "")
    assert len(outcome.err.splitlines()) == 1
    assert aqmlab("console", "memory://x").code == 2


def test_a_calibration_is_kept_there(place: str) -> None:
    line = next(iter(lines.known().values())).model_copy(update={"mbps_per_user": 1.0})
    lines.store(line, location(place))
    assert lines.known(place)[line.key] == line


def test_the_commands_go_there(aqmlab: Command, place: str, tmp_path: Path) -> None:
    short = ("--users", "20", "--warmup", "0 s", "--duration", "2 s", "--seeds", "1")
    before = {path.name for path in tmp_path.iterdir()}
    drawn = aqmlab("compare", *short, "--out", place, "pi", "droptail")
    assert drawn.code == 0, drawn.err
    assert all(Path(line).is_relative_to("results/figures") for line in drawn.out.splitlines()[-4:])
    (tmp_path / "grid.toml").write_text(f'set = {json.dumps(TINY)}\nschemes = ["codel", "pie"]\n')
    assert aqmlab("sweep", "grid.toml", "--seeds", "1", "--out", place).code == 0
    assert len(json.loads(aqmlab("ls", place, "--json").out)) == 5
    assert aqmlab("compact", place).out == f"5 cells in {place}/cells.parquet\n"
    assert aqmlab("report", "--scheme", "pi", "--scheme", "droptail", "--out", place).code == 0
    assert aqmlab("report", "--out", place, "-o", "again.html").code == 0
    assert "droptail" in (tmp_path / "report.html").read_text()
    assert aqmlab("rm", place, "--scheme", "pi", "--yes").code == 0
    assert len(aqmlab("ls", place, "--paths").out.splitlines()) == 4
    new = {path.name for path in tmp_path.iterdir()} - before
    assert new == {"results", "grid.toml", "report.html", "again.html"}
