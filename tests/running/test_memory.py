"""Cells that need more memory than there is."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.campaigns.failures import Failures
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.running import sweep
from aqmlab.running.machine import memory
from aqmlab.running.machine.memory import FreeMemory, Memory, OutOfMemory
from aqmlab.store.store import Store

MB = 1_000_000


def cell_of_users(users: int) -> Cell:
    """Return a cell of some users on each side."""
    return cells_of(lab.Experiment(users={"per_side": users}, link={"rate": "2 Mbit/s"}), [1])[0]


def memory_with(bytes_free: float) -> Memory:
    """Return a memory of which something is always free."""
    return Memory(lambda: FreeMemory(bytes_free, "the machine's memory"))


def test_a_cell_that_cannot_fit_is_refused_before_it_starts() -> None:
    line = (
        "out of memory: a run of 2,000,000 users on each side needs at least 1.3 GB, and 900 MB are free of the"
        " machine's memory"
    )
    with pytest.raises(OutOfMemory) as error, memory_with(900 * MB).room_for(cell_of_users(2_000_000)):
        pass
    assert str(error.value) == line


def test_cells_that_fit_one_by_one_wait_for_each_other() -> None:
    shared, order = memory_with(400 * MB), []
    may_end = threading.Event()

    def first() -> None:
        with shared.room_for(cell_of_users(20_000)):
            order.append("first starts")
            may_end.wait(60)
            order.append("first ends")

    thread = threading.Thread(target=first)
    thread.start()
    while not order:
        time.sleep(0.001)
    with shared.room_for(cell_of_users(20_000), may_end.set):
        order.append("second starts")
    thread.join()
    assert order == ["first starts", "first ends", "second starts"]


def test_a_wait_for_memory_is_interrupted() -> None:
    class Interrupted(Exception):
        """The sweep is over."""

    def interrupted() -> None:
        raise Interrupted

    shared = memory_with(400 * MB)
    with shared.room_for(cell_of_users(20_000)):
        thread_error: list[BaseException] = []

        def second() -> None:
            try:
                with shared.room_for(cell_of_users(20_000), interrupted):
                    pass
            except Interrupted as error:
                thread_error.append(error)

        thread = threading.Thread(target=second)
        thread.start()
        thread.join(60)
        assert thread_error


def test_the_largest_cell_ends_when_little_memory_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_INTERVAL_S", 0)
    free = [4000 * MB]
    shared = Memory(lambda: FreeMemory(free[0], "the machine's memory"))
    ready, low, small_is_done = threading.Event(), threading.Event(), threading.Event()

    def small() -> None:
        with shared.room_for(cell_of_users(10)) as check:
            ready.set()
            low.wait(60)
            check(1.0)
            small_is_done.set()

    with shared.room_for(cell_of_users(1000)) as check:
        check(1.0)
        thread = threading.Thread(target=small)
        thread.start()
        assert ready.wait(60)
        free[0] = 100 * MB
        low.set()
        assert small_is_done.wait(60), "the small cell continues"
        thread.join()
        with pytest.raises(OutOfMemory, match=r"^out of memory after 2\.5 s of simulated time: 100 MB are free of"):
            check(2.5)


@pytest.fixture
def scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave 300 MB to the cells of a sweep."""
    monkeypatch.setattr(sweep, "MEMORY", memory_with(300 * MB))


@pytest.mark.usefixtures("scarce")
def test_a_cell_out_of_memory_fails_and_the_sweep_goes_on(tmp_path: Path) -> None:
    text = """
        set = ["link.rate=2 Mbit/s", "protocol.warmup=1 s", "protocol.duration=2 s"]
        schemes = ["droptail"]
        axes."users.per_side" = [10, 1_000_000, 20]
    """
    file = tmp_path / "grid.toml"
    file.write_text(text)
    campaign = lab.sweep(lab.Grid.from_toml(file), seeds=[1], out=tmp_path / "out", workers=2)
    assert sorted(Store(tmp_path / "out").cells()["users_per_side"]) == [10, 20]
    (failure,) = Failures(tmp_path / "out").load().values()
    assert failure.error.startswith("out of memory: a run of 1,000,000 users on each side needs at least ")
    assert failure.rate_mbps == 2
    assert len(campaign.planned) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="the address space of a process is bounded on Linux")
@pytest.mark.parametrize("users", [400_000, 2_000_000])
def test_many_users_in_little_memory_are_one_line(tmp_path: Path, users: int) -> None:
    spec = tmp_path / "users.toml"
    spec.write_text(f'link.rate = "1 Gbit/s"\nusers.per_side = {users}\nprotocol.duration = "20 s"\n')
    ran = subprocess.run(
        [sys.executable, "-m", "aqmlab", "run", spec.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        # The libraries alone take address space for each processor.
        env={"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "PATH": ""},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1_700_000_000, 1_700_000_000)),
        check=False,
    )
    assert ran.returncode == 1
    assert [line[:21] for line in ran.stderr.splitlines() if line != "1 cell"] == ["aqmlab: out of memory"]
