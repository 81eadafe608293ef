"""Faults of remote stores: nothing is lost, and each fault is one line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import s3fs

import aqmlab as lab
from aqmlab.campaigns.failures import Failures
from aqmlab.cells.cell import Cell
from aqmlab.running import run as running
from aqmlab.running.run import run_cell
from aqmlab.storage import io, marker, object_store
from aqmlab.storage.errors import Damaged
from aqmlab.storage.integrity import METADATA
from aqmlab.storage.location import location
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from conftest import Command
from fixtures.places import GRID, bytes_of, files_below


@pytest.mark.parametrize("name", ["link.parquet", "summary.parquet", METADATA])
def test_a_cell_uploaded_without_its_metadata_is_not_there(
    place: str, cell: Cell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = Store(place)
    filesystem = location(place).fs  # type: ignore[union-attr]
    copy, write = filesystem.put_file, filesystem.pipe_file

    def fails_at(method: Callable[..., Any]) -> Callable[..., Any]:
        def ends(*arguments: Any, **options: Any) -> Any:
            if str(arguments[0]).endswith(name):
                raise KeyboardInterrupt
            return method(*arguments, **options)

        return ends

    with monkeypatch.context() as interrupted:
        interrupted.setattr(filesystem, "put_file", fails_at(copy))
        interrupted.setattr(filesystem, "pipe_file", fails_at(write))
        with pytest.raises(KeyboardInterrupt):
            run_cell(cell, store)
    assert f"{cell.key}/{name}" not in files_below(place, "cells")
    assert store.get(cell) is None
    assert store.get_by_key(cell.key) is None
    assert store.cells().is_empty()
    assert run_cell(cell, store).queue.height > 0
    assert store.cells()["cell"].to_list() == [cell.key]


def test_a_run_that_fails_leaves_nothing(place: str, cell: Cell) -> None:
    def watch(now: float, end: float) -> None:
        assert files_below(place) == [marker.NAME, f"drafts/{cell.key}"]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        run_cell(cell, Store(place), watch)
    assert files_below(place) == [marker.NAME]


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
    """Two machines that both look before either has written."""
    first = run_cell(cell, Store(place))
    store = Store(place)
    monkeypatch.setattr(object_store.Objects, "_exists", lambda self, marker: False)
    with store.create(cell) as draft:
        for file in first.location.iterdir():
            if file.name == METADATA:
                (draft / METADATA).write_text("{}")
            else:
                (draft / file.name).write_bytes(file.read_bytes())
    result = store.get(cell)
    assert result is not None
    assert result.metadata == first.metadata


def damage(result: Result, name: str, change: Callable[[bytes], bytes] | None) -> None:
    file = result.location / name
    io = file.read_bytes()
    file.unlink()
    if change is not None:
        file.write_bytes(change(io))


@pytest.mark.parametrize("name", ["queue.parquet", METADATA])
@pytest.mark.parametrize("change", [lambda io: io[: len(io) // 2], lambda io: b"", None])
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
        damage(run_cell(cell, Store(place)), "queue.parquet", lambda io: b"")
    run_cell(cell, Store(place))
    kept = {file.partition("/")[0] for file in files_below(place, "damaged")}
    assert kept == {cell.key, f"{cell.key}-2", f"{cell.key}-3"}


def test_a_table_of_other_bytes_is_damage_when_it_is_read(
    place: str, cell: Cell, tiny: lab.Experiment, caplog: pytest.LogCaptureFixture
) -> None:
    second = lab.run(tiny, seed=2, out=place)
    result = run_cell(cell, Store(place))
    for name in ("queue.parquet", "summary.parquet"):
        damage(result, name, lambda io: io[:-1] + bytes([io[-1] ^ 1]))
    # What this process has read before it goes by.
    io._copies.cache_clear()
    reread = Store(place).get(cell)
    assert reread is not None
    assert reread.link.height > 0
    with pytest.raises(Damaged, match=rf"^{place}/cells/{cell.key}/queue\.parquet is damaged: its checksum .* run it"):
        _ = reread.queue
    assert Store(place).cells()["cell"].to_list() == [second.cell.key]
    assert caplog.messages == [
        f"{place}/cells/{cell.key}/summary.parquet is damaged: its checksum is not that of what was written;"
        " the cell is left out"
    ]


def deny(bucket: str, action: str) -> None:
    statement = {"Effect": "Deny", "Principal": "*", "Action": action, "Resource": f"arn:aws:s3:::{bucket}/*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    s3fs.S3FileSystem().call_s3("put_bucket_policy", Bucket=bucket, Policy=policy)


def test_a_refused_write_ends_a_sweep_before_its_first_cell(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = f"s3://{bucket}/results"
    lab.sweep(GRID, seeds=[1], out=out)
    deny(bucket, "s3:PutObject")
    monkeypatch.setattr(running, "_simulate", lambda *_: pytest.fail("it runs"))
    with pytest.raises(lab.StoreError, match=rf"^{out}/drafts/\w+: cannot be written: ") as error:
        lab.sweep(GRID, seeds=[1, 2], out=out)
    assert "\n" not in str(error.value)
    assert Failures(location(out)).load() == {}
    assert Store(out).cells().height == 2
    with pytest.raises(lab.StoreError, match=r"/index/\S+\.parquet: cannot be written: "):
        Store(out).compact()


def test_a_damaged_cell_that_cannot_be_set_aside_is_one_line(bucket: str, cell: Cell) -> None:
    out = f"s3://{bucket}"
    damage(run_cell(cell, Store(out)), "queue.parquet", lambda io: b"")
    deny(bucket, "s3:PutObject")
    advice = rf"remove {out}/cells/{cell.key}, which cannot be set aside \("
    with pytest.raises(lab.StoreError, match=rf"queue\.parquet is damaged: it has 0 bytes.*; {advice}"):
        run_cell(cell, Store(out))


def test_a_bucket_that_is_not_there_is_one_line_and_is_not_made(bucket: str, tiny: lab.Experiment) -> None:
    for use in (lambda: lab.run(tiny, out="s3://mistyped/results"), lambda: Store("s3://mistyped").cells()):
        with pytest.raises(lab.StoreError, match=r"^s3://mistyped\S*: cannot be read: The specified bucket does not"):
            use()
    with pytest.raises(lab.StoreError, match=r"^s3://mistyped/x: cannot be written: The specified bucket does not"):
        io.write_bytes(location("s3://mistyped"), "x", b"")
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
