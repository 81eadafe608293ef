"""Memory limits: a cell that would exhaust the memory fails before the system kills the process with all cells.

A failed allocation of the engine ends the process, and so does a system without free memory. Therefore aqmlab monitors
the memory. A cell that needs more than is available does not start, cells that do not fit together wait for each
other, and the largest running cell ends when little memory is left.
"""

from __future__ import annotations

import ctypes
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from aqmlab.cells.cell import Cell
from aqmlab.ui.counts import pluralize

_MB = 1_000_000

_RESERVE = 128 * _MB
"""The memory that remains free for other uses; when less is free, a cell ends. Ours."""

_INTERVAL_S = 0.05
"""The wall time between two readings of the free memory, each of which takes some 0.1 ms. Ours."""

_INITIAL_BYTES_PER_USER, _MAX_BYTES_PER_USER = 600, 10_000
"""Bytes for a user on each side: at the start of a run, and when all users wait at an overloaded link."""

_BYTES_PER_FLOW = 6_000
"""Bytes for an open connection of a source."""

_FIXED_BYTES = 10 * _MB
"""Bytes of a cell without users."""


class OutOfMemory(MemoryError):
    """A cell needs more memory than is available."""


class Need(NamedTuple):
    """The bytes that a cell takes, as measured with web users and with bulk transfers."""

    initial_bytes: float
    max_bytes: float


class FreeMemory(NamedTuple):
    """The bytes that this process may still take."""

    bytes: float
    source: str
    """The limit, in words."""
    is_address_space: bool = False
    """True if pages count before they are used, so that a growing table takes all of its new size at once."""


class _Running(NamedTuple):
    need: Need
    number: int


class Memory:
    """The memory that the cells of this process share.

    Parameters
    ----------
    free
        Returns the memory that is left.
    """

    def __init__(self, free: Callable[[], FreeMemory] | None = None) -> None:
        self._free = free or free_memory
        self._condition = threading.Condition()
        self._running: dict[int, _Running] = {}
        self._started = 0
        self._budget = FreeMemory(0, "")
        self._used_before = 0.0
        self._checked_at = 0.0

    @contextmanager
    def room_for(self, cell: Cell, on_wait: Callable[[], object] = lambda: None) -> Iterator[Callable[[float], None]]:
        """Wait until there is room for a cell; yield a check to call during its run, which ends it if little is left.

        Parameters
        ----------
        cell
            The cell to run.
        on_wait
            Called while the cell waits for others; an exception ends the wait.

        Raises
        ------
        OutOfMemory
            When the cell needs more memory than is available without other cells.
        """
        need, thread = need_of(cell), threading.get_ident()
        with self._condition:
            while not self._has_room(cell, need):
                self._condition.wait(0.2)
                on_wait()
            self._started += 1
            self._running[thread] = _Running(need, self._started)
        try:
            yield self._check
        finally:
            with self._condition:
                del self._running[thread]
                self._condition.notify_all()

    def _has_room(self, cell: Cell, need: Need) -> bool:
        if self._running:
            others = sum(run.need.max_bytes for run in self._running.values())
            return others + need.max_bytes <= self._budget.bytes - _RESERVE
        self._budget = free = self._free()
        if need.initial_bytes > free.bytes - _RESERVE:
            needed_text, available = _size_text(need.initial_bytes + _RESERVE), _size_text(free.bytes)
            raise OutOfMemory(
                f"out of memory: {_run_text(cell)}needs at least {needed_text}, and {available} are free"
                f" of {free.source}"
            )
        self._used_before = address_space()
        return True

    def _check(self, now: float) -> None:
        """End this cell if little memory is left and no other cell takes more."""
        # Without a lock: if threads read at the same time, that costs only another reading.
        if time.monotonic() - self._checked_at < _INTERVAL_S:
            return
        self._checked_at = time.monotonic()
        free = self._free()
        reserve = float(_RESERVE)
        if free.is_address_space:
            reserve = max(reserve, address_space() - self._used_before)
        if free.bytes >= reserve:
            return
        with self._condition:
            own = self._running[threading.get_ident()]
            is_largest = all(
                (own.need.max_bytes, own.number) >= (other.need.max_bytes, other.number)
                for other in self._running.values()
            )
        if is_largest:
            raise OutOfMemory(
                f"out of memory after {now:.3g} s of simulated time: {_size_text(free.bytes)} are free of {free.source}"
            )


def need_of(cell: Cell) -> Need:
    """Estimate the memory that a cell needs."""
    users = cell.users_per_side
    flows = sum(_flows(source) for source in cell.resolved.get("sources", ()))
    return Need(
        _FIXED_BYTES + _INITIAL_BYTES_PER_USER * users,
        _FIXED_BYTES + _MAX_BYTES_PER_USER * users + _BYTES_PER_FLOW * flows,
    )


def _flows(source: Mapping[str, Any]) -> int:
    (table,) = source.values()
    return int(table.get("flows", table.get("users", 0)))


def release() -> None:
    """Return freed memory from the C library to the system."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def free_memory() -> FreeMemory:
    """Return the memory left by the tightest limit: that of this process, its control group or the machine."""
    limits = [FreeMemory(sys.maxsize, "memory")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(
            FreeMemory(max(0.0, soft - address_space()), "the address space (ulimit -v)", is_address_space=True)
        )
    with suppress(OSError, KeyError, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        info = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        limits.append(FreeMemory(info["MemAvailable"] + info["SwapFree"], "the machine's memory"))
    limits += (FreeMemory(group_bytes, "the control group's memory") for group_bytes in _cgroup_free())
    return min(limits, key=lambda limit: limit.bytes)


def _cgroup_free() -> Iterator[float]:
    """Yield the memory left to each control group of this process; cached files count as free."""
    with suppress(OSError, ValueError):
        group = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip()
        mount = Path("/sys/fs/cgroup", group.lstrip("/"))
        for directory in (mount, *mount.parents):
            if not (directory / "memory.max").exists():
                continue
            limit = (directory / "memory.max").read_text().strip()
            if limit != "max":
                stat = dict(line.split() for line in (directory / "memory.stat").read_text().splitlines())
                used = int((directory / "memory.current").read_text()) - int(stat["file"])
                yield max(0.0, float(limit) - used)


def address_space() -> float:
    """Return the bytes of address space that this process has; 0 if the system does not report it."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * float(resource.getpagesize())
    return 0.0


def _run_text(cell: Cell) -> str:
    return f"a run of {pluralize(cell.users_per_side, 'user')} on each side " if cell.users_per_side else "a run "


def _size_text(size: float) -> str:
    return f"{size / 1e9:.2g} GB" if size >= 1e9 else f"{size / _MB:.0f} MB"


MEMORY = Memory()
"""The memory of this process."""
