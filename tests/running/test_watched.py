"""Readings of a watched run, which is the same run as an unwatched one."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from aqmlab._core import Simulation, seconds
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.console import jobs, third_party
from aqmlab.console.forms.job_requests import JobRequest
from aqmlab.running import monitoring
from aqmlab.spec.experiment import Experiment
from aqmlab.store.store import Store
from fixtures.console import Visitor

SPEC = """
queue.pi.q_ref = 12
tcp.ecn = true
link.rate = "10 Mbit/s"
users.load = 98
protocol = { warmup = "20 s", duration = "70 s" }
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """The spec's file."""
    file = tmp_path / "spec.toml"
    file.write_text(SPEC)
    return file


@contextmanager
def watched(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Visitor]]:
    """Run a watched command and open its page."""
    words = [sys.executable, "-m", "aqmlab", *arguments, "--watch"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        visitor = Visitor(program.stderr.readline().removeprefix("Open ").strip())
        visitor.go_in()
        yield program, visitor


def watch(*arguments: str) -> tuple[str, str, str]:
    """Watch a command to its end; return its events, its page and its standard output."""
    with watched(*arguments) as (program, visitor):
        events = visitor.ask("/runs/1/events")[1]
        page = visitor.ask("/runs/1")[1]
        program.send_signal(signal.SIGINT)
        printed, _ = program.communicate(timeout=60)
    # Asserted only now: a failure above would wait for the program, which waits for an interrupt.
    assert program.returncode == 0
    assert events.endswith("event: end\ndata: 0\n\n")
    return events, page, printed


def run(folder: Path, *, watch: bool) -> tuple[Mapping[str, bytes], list[Mapping[str, Any]]]:
    """Run the spec as a program; its files, and what it told."""
    spec = folder / "spec.toml"
    spec.write_text(SPEC)
    read_end, write_end = os.pipe()
    words = [sys.executable, "-m", "aqmlab", "run", str(spec), "--out", str(folder / "out")]
    environment = {**os.environ, monitoring.PIPE: str(write_end)} if watch else None
    program = subprocess.Popen(words, pass_fds=[write_end], env=environment, stdout=subprocess.DEVNULL)
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        readings = [json.loads(line) for line in stream]
    assert program.wait() == 0
    (cell,) = Store(folder / "out").cells()["cell"]
    return {file.name: file.read_bytes() for file in (folder / "out" / "cells" / cell).glob("*.parquet")}, readings


def test_a_watched_run_is_the_same_and_reports_its_readings(tmp_path: Path) -> None:
    for name in ("plain", "watched"):
        Path(tmp_path, name).mkdir()
    plain, nothing = run(tmp_path / "plain", watch=False)
    monitoring, readings = run(tmp_path / "watched", watch=True)
    assert monitoring == plain
    assert nothing == []
    assert {reading["warmup_s"] for reading in readings} == {20}
    first, last = readings[0], readings[-1]
    assert first["now_s"] < 20, "the warm-up is reported"
    assert first["throughput"].keys() == first["queue"].keys() == {"forward", "reverse"}
    assert 0 < first["throughput"]["forward"] < 10
    assert first["response"] == first["capacity"] == {}, "no requests yet, and one rate"
    assert last["now_s"] == last["end_s"] == 90
    assert 0 < last["throughput"]["forward"] < 10
    assert last["signals"]["forward"] > 0
    assert last["queue"]["forward"] > 0
    assert 0 < last["response"]["median"] < last["response"]["p90"] < last["response"]["p99"]


def test_no_sample_of_a_queue_is_left_out_of_a_reading(small_cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "_INTERVAL_S", math.inf)
    readings: list[Mapping[str, Any]] = []
    run = monitoring.Monitored(small_cell, Simulation(small_cell.spec, small_cell.seed), readings.append)
    taken = []
    while run.now < run.end:
        run.advance(1)
        if run.now % 20 == 0 or run.now == run.end:
            taken.append(run.take("queue"))
    samples = pl.DataFrame(pl.from_arrow(monitoring._merged(taken)))
    means = samples.group_by("direction").agg(pl.col("packets").mean()).sort("direction")["packets"]
    assert len(readings) == 2, "of the first second, and of all that follows it"
    assert list(readings[-1]["queue"].values()) == pytest.approx(means.to_list(), abs=1e-3)
    assert samples.height == 2 * 65 / seconds(small_cell.resolved["record"]["queue_every"])


def test_a_short_run_has_enough_readings_for_a_line(small_cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "_INTERVAL_S", math.inf)
    readings: list[Mapping[str, Any]] = []
    run = monitoring.Monitored(small_cell, Simulation(small_cell.spec, small_cell.seed), readings.append, 0.1)
    while run.now < run.end:
        run.advance(1)
    assert [reading["now_s"] for reading in readings] == [1, 8, 15, 22, 29, 36, 43, 50, 57, 64, 70]


def test_readings_have_the_capacity_of_links_that_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "_INTERVAL_S", math.inf)
    down = {"trace": {"seconds": [0, 4], "mbps": [8, 2]}}
    experiment = Experiment(
        link={"rate": {"up": "10 Mbit/s", "down": down}},
        queue={"droptail": {}},
        users={"per_side": 1},
        protocol={"warmup": "2 s", "duration": "8 s"},
    )
    (cell,) = cells_of(experiment, [1])
    readings: list[Mapping[str, Any]] = []
    run = monitoring.Monitored(cell, Simulation(cell.spec, cell.seed), readings.append)
    run.advance(1)
    run.advance(9)
    # 8 Mbit/s for 4 s, 2 Mbit/s for 4 s, and again.
    assert [reading["capacity"]["reverse"] for reading in readings] == [8, pytest.approx(48 / 9, abs=1e-3)]
    assert [reading["capacity"]["forward"] for reading in readings] == [10, 10]


def test_a_run_goes_on_when_nobody_reads_any_more(spec: Path, tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    words = [sys.executable, "-m", "aqmlab", "run", str(spec), "--out", str(tmp_path / "out")]
    process = subprocess.run(
        words, pass_fds=[write_end], env={**os.environ, monitoring.PIPE: str(write_end)}, capture_output=True, text=True
    )
    os.close(write_end)
    assert process.returncode == 0, process.stderr


def test_threads_that_begin_at_once_are_all_watched() -> None:
    threads = 20
    program = f"""
import sys, threading
sys.setswitchinterval(1e-6)
from aqmlab.running import monitoring
ready, seen = threading.Barrier({threads}), []
def begin():
    ready.wait()
    seen.append(monitoring.is_monitored())
threads = [threading.Thread(target=begin) for _ in range({threads})]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(all(seen), len(seen))
"""
    read_end, write_end = os.pipe()
    environment = {**os.environ, monitoring.PIPE: str(write_end)}
    words = [sys.executable, "-c", program]
    process = subprocess.run(words, pass_fds=[write_end], env=environment, capture_output=True, text=True)
    for end in (read_end, write_end):
        os.close(end)
    assert (process.stdout, process.stderr) == (f"True {threads}\n", "")


@pytest.mark.parametrize("number", ["many", "99999"])
def test_what_is_no_pipe_is_refused_in_one_line(spec: Path, tmp_path: Path, number: str) -> None:
    words = [sys.executable, "-m", "aqmlab", "run", str(spec), "--out", str(tmp_path / "out")]
    process = subprocess.run(words, env={**os.environ, monitoring.PIPE: number}, capture_output=True, text=True)
    assert process.returncode == 2
    assert f"aqmlab: {monitoring.PIPE}: is set by what watches a run" in process.stderr
    assert "Traceback" not in process.stderr


def test_a_watched_command_keeps_its_page_until_an_interrupt(spec: Path, tmp_path: Path) -> None:
    events, page, printed = watch("run", str(spec), "--json", "--out", str(tmp_path / "out"))
    assert "event: reading" in events
    assert ">Results" in page
    assert json.loads(printed)["seed"] == 1, "standard output has the result and nothing else"


@pytest.mark.usefixtures("_live_permitted")
def test_a_live_run_is_watched_from_its_warm_up_on(spec: Path, tmp_path: Path) -> None:
    short = ["--set", "users.per_side=100", "--set", "protocol={warmup='3 s', duration='2 s'}", "--json"]
    events, page, printed = watch("live", str(spec), *short, "--out", str(tmp_path / "out"))
    readings = [json.loads(reading) for reading in re.findall(r"event: reading\ndata: (.*)\n", events)]
    warm = [reading for reading in readings if reading["now_s"] < reading["warmup_s"]]
    assert warm, "a reading each second, though the first may be over before anybody looks"
    assert max(reading["throughput"]["forward"] for reading in warm) > 0
    assert readings[-1]["now_s"] == readings[-1]["end_s"] == 5
    assert readings[-1]["queue"].keys() == {"forward", "reverse"}
    record = json.loads(printed)
    assert record["world"] == "live"
    assert Path(record["cell"]).name == readings[0]["cell"]
    assert ">Results" in page


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_many_cells_are_watched_as_one(spec: Path, tmp_path: Path, command: str) -> None:
    spec.write_text(SPEC.replace("20 s", "2 s").replace("70 s", "10 s"))
    grid = tmp_path / "grid.toml"
    grid.write_text('spec = "spec.toml"\nschemes = ["pi", "codel"]\n')
    compared = [str(spec), "--no-baseline", "--no-figures", "pi", "codel"]
    arguments = compared if command == "compare" else [str(grid)]
    events, _, printed = watch(command, *arguments, "--seeds", "1", "--out", str(tmp_path / "out"))
    readings = re.findall(r"event: reading\ndata: (.*)\n", events)
    assert {json.loads(reading)["cell"] for reading in readings} == {*Store(tmp_path / "out").cells()["cell"]}
    assert "codel" in printed


def test_an_interrupt_of_a_watched_command_is_one_of_the_run(spec: Path, tmp_path: Path) -> None:
    long = ["--set", "protocol.duration=1 d", "--out", str(tmp_path / "out")]
    with watched("run", str(spec), *long) as (program, visitor):
        while not visitor.ask("/runs/1/progress")[1].count("<tr>") > 1:
            assert program.poll() is None
            time.sleep(0.1)
        program.send_signal(signal.SIGINT)
        _, stderr = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "interrupted; 0 of 1 cells are in the store" in stderr
    assert not list(tmp_path.glob("out/cells/*"))


def test_an_interrupted_run_has_the_shells_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python clearing up dies of a second one; a watched command's exit code was 254 then."""

    async def sleeps(*_: object, **files: Any) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec("sleep", "600", **files)

    async def stopped() -> tuple[int | None, str]:
        job = await jobs.Jobs().start(JobRequest("sleeps", []))
        job.stop()
        await job.wait()
        return job.exit_code, job.status

    monkeypatch.setattr(jobs, "command", sleeps)
    assert asyncio.run(stopped()) == (130, "stopped")


def test_a_mistake_is_said_before_anything_is_watched(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "aqmlab", "run", str(tmp_path / "none.toml"), "--watch"]
    process = subprocess.run(words, capture_output=True, text=True)
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1


def test_vendored_libraries_are_as_published() -> None:
    files = {
        library.text.with_name(file): sha256
        for library in third_party.LIBRARIES
        for file, sha256 in library.files.items()
    }
    texts = {library.text for library in third_party.LIBRARIES}
    folders = {text.parent for text in texts}
    assert {file for folder in folders for file in folder.iterdir()} == files.keys() | texts
    for file, sha256 in files.items():
        assert hashlib.sha256(file.read_bytes()).hexdigest() == sha256
