"""What a run reads off itself while it is watched; and that it is the same run."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aqmlab.console import vendored
from aqmlab.running import watched
from aqmlab.running.store import Store

SPEC = """
queue.pi.q_ref = 12
tcp.ecn = true
link.rate = "10 Mbit/s"
users.load = 98
protocol = { warmup = "20 s", duration = "70 s" }
"""


def run(folder: Path, *, watch: bool) -> tuple[Mapping[str, bytes], list[Mapping[str, Any]]]:
    """Run the spec as a program; its files, and what it told."""
    spec = folder / "spec.toml"
    spec.write_text(SPEC)
    ours, its = os.pipe()
    words = [sys.executable, "-m", "aqmlab", "run", str(spec), "--out", str(folder / "out")]
    environment = {**os.environ, watched.PIPE: str(its)} if watch else None
    program = subprocess.Popen(words, pass_fds=[its], env=environment, stdout=subprocess.DEVNULL)
    os.close(its)
    with os.fdopen(ours) as told:
        readings = [json.loads(line) for line in told]
    assert program.wait() == 0
    (cell,) = Store(folder / "out").cells()["cell"]
    return {file.name: file.read_bytes() for file in (folder / "out" / "cells" / cell).glob("*.parquet")}, readings


def test_a_run_is_the_same_when_it_is_watched_and_tells_what_it_reads(tmp_path: Path) -> None:
    for name in ("plain", "watched"):
        Path(tmp_path, name).mkdir()
    plain, nothing = run(tmp_path / "plain", watch=False)
    same, readings = run(tmp_path / "watched", watch=True)
    assert same == plain
    assert nothing == []
    last = readings[-1]
    assert last["now_s"] == last["end_s"] == 90
    assert 0 < last["throughput"]["direction 0"] < 10
    assert last["signals"]["direction 0"] > 0
    assert last["queue"]["direction 0"] > 0
    assert 0 < last["response"]["median"] < last["response"]["90 %"] < last["response"]["99 %"]


def test_a_run_goes_on_when_nobody_reads_any_more(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    ours, its = os.pipe()
    os.close(ours)
    words = [sys.executable, "-m", "aqmlab", "run", str(spec), "--out", str(tmp_path)]
    done = subprocess.run(
        words, pass_fds=[its], env={**os.environ, watched.PIPE: str(its)}, capture_output=True, text=True
    )
    os.close(its)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", ["many", "99999"])
def test_what_is_no_pipe_is_refused_in_one_line(tmp_path: Path, number: str) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC)
    words = [sys.executable, "-m", "aqmlab", "run", str(spec), "--out", str(tmp_path)]
    done = subprocess.run(words, env={**os.environ, watched.PIPE: number}, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"aqmlab: {watched.PIPE}: is set by what watches a run" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_vendored_is_as_published() -> None:
    files = {file: sha256 for part in vendored.PARTS for file, sha256 in part.files.items()}
    texts = {part.text for part in vendored.PARTS}
    assert {file.name for file in vendored.FOLDER.iterdir()} == files.keys() | texts
    for file, sha256 in files.items():
        assert hashlib.sha256((vendored.FOLDER / file).read_bytes()).hexdigest() == sha256
