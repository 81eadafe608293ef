"""Places for results that are no directory of this machine, and small cells to put there."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import fsspec
import pytest
import s3fs

import aqmlab as lab
from aqmlab.results.result import Result
from aqmlab.running.cell import Cell, cells_of

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
