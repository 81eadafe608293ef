"""Shared fixtures: a small experiment on the real engine, and the command line as a function."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import aqmlab as lab
import fork_server
import short_runs
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.cli import main as cli
from aqmlab.live import doctor
from aqmlab.running import process
from aqmlab.store.store import Store
from fixtures.console import console_store, visitor
from fixtures.places import bucket, cell, place, s3, tiny
from markers import pytest_collection_modifyitems, pytest_itemcollected
from skips import pytest_sessionfinish

__all__ = [
    "bucket",
    "cell",
    "console_store",
    "place",
    "pytest_collection_modifyitems",
    "pytest_itemcollected",
    "pytest_sessionfinish",
    "s3",
    "tiny",
    "visitor",
]

# How long an example takes says nothing about whether it is right.
settings.register_profile("aqmlab", deadline=None)
settings.load_profile("aqmlab")


class Outcome(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]

Write = Callable[..., Path]


@pytest.fixture
def axis() -> Axes:
    """An axis to draw on."""
    return Figure().subplots()


@pytest.fixture(scope="session")
def small() -> lab.Experiment:
    """Half a minute of a few users of the papers' testbed who congest a slow link."""
    return lab.Experiment(
        testbed="unc-2003",
        link={"rate": "2 Mbit/s"},
        queue={"pi": {"q_ref": 10}},
        users={"per_side": 400},
        protocol={"warmup": "5 s", "duration": "65 s"},
    )


@pytest.fixture
def small_cell(small: lab.Experiment) -> Cell:
    """The same with seed 1."""
    return cells_of(small, [1])[0]


@pytest.fixture
def another_cell(small: lab.Experiment) -> Cell:
    """The same with seed 2."""
    return cells_of(small, [2])[0]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store(tmp_path / "results")


@pytest.fixture
def aqmlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in an empty directory, at the width of a pipe wherever the tests run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def command(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["aqmlab", *arguments])
        with pytest.raises(SystemExit) as exited:
            cli.main()
        code = exited.value.code
        assert code is None or isinstance(code, int)
        return Outcome(code or 0, *capsys.readouterr())

    return command


@pytest.fixture(scope="session")
def short_run_command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The command line that runs ``short_runs.py`` without the time of its imports: see ``fork_server.py``."""
    if sys.platform != "linux":
        # A fork of a process that has loaded the system's frameworks may fail there.
        yield [sys.executable, short_runs.__file__]
        return
    address = str(tmp_path_factory.mktemp("short_runs") / "socket")
    # One thread for linear algebra, no windows.
    isolated = {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, fork_server.__file__, address]
    with subprocess.Popen(command, env={**os.environ, **isolated}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        # The client needs no installed package.
        yield [sys.executable, "-I", "-S", *command[1:]]
        process.kill()


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a module into the current directory."""
    monkeypatch.chdir(tmp_path)

    def write(source: str, name: str = "my_module") -> Path:
        file = tmp_path / f"{name}.py"
        file.write_text(source)
        return file

    return write


@pytest.fixture(scope="session")
def _live_permitted() -> None:
    """Skip where the machine does not let live runs happen, with the doctor's reasons."""
    if not process.PROGRAM.exists():
        pytest.skip("aqmlab-live is not built here: make live, on Linux")
    report = doctor.examine()
    if not report.can_run:
        pytest.skip(str(report))
