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
from aqmlab.ui.counts import counted

_MB = 1_000_000

_RESERVE = 128 * _MB
"""The memory that remains free for other uses; when less is free, a cell ends. Ours."""

_BETWEEN_S = 0.05
"""The wall time between two readings of the free memory, each of which takes some 0.1 ms. Ours."""

_AT_START, _AT_MOST = 600, 10_000
"""Bytes for a user on each side: at the start of a run, and when all users wait at an overloaded link."""

_OF_A_FLOW = 6_000
"""Bytes for an open connection of a source."""

_OF_ANY = 10 * _MB
"""Bytes of a cell without users."""


class OutOfMemory(MemoryError):
    """A cell needs more memory than is available."""


class Need(NamedTuple):
    """The bytes that a cell takes, as measured with web users and with bulk transfers."""

    at_start: float
    at_most: float


class Free(NamedTuple):
    """The bytes that this process may still take."""

    bytes: float
    of: str
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

    def __init__(self, free: Callable[[], Free] | None = None) -> None:
        self._free = free or free_memory
        self._changed = threading.Condition()
        self._running: dict[int, _Running] = {}
        self._started = 0
        self._budget = Free(0, "")
        self._taken_before = 0.0
        self._looked_at = 0.0

    @contextmanager
    def room_for(self, cell: Cell, look: Callable[[], object] = lambda: None) -> Iterator[Callable[[float], None]]:
        """Wait until there is room for a cell; yield a check to call during its run, which ends it if little is left.

        Parameters
        ----------
        cell
            The cell to run.
        look
            Called while the cell waits for others; an exception ends the wait.

        Raises
        ------
        OutOfMemory
            When the cell needs more memory than is available without other cells.
        """
        need, thread = need_of(cell), threading.get_ident()
        with self._changed:
            while not self._has_room(cell, need):
                self._changed.wait(0.2)
                look()
            self._started += 1
            self._running[thread] = _Running(need, self._started)
        try:
            yield self._check
        finally:
            with self._changed:
                del self._running[thread]
                self._changed.notify_all()

    def _has_room(self, cell: Cell, need: Need) -> bool:
        if self._running:
            others = sum(each.need.at_most for each in self._running.values())
            return others + need.at_most <= self._budget.bytes - _RESERVE
        self._budget = free = self._free()
        if need.at_start > free.bytes - _RESERVE:
            needed, there = _said(need.at_start + _RESERVE), _said(free.bytes)
            raise OutOfMemory(
                f"out of memory: {_users(cell)}needs at least {needed}, and {there} are free of {free.of}"
            )
        self._taken_before = address_space()
        return True

    def _check(self, now: float) -> None:
        """End this cell if little memory is left and no other cell takes more."""
        # Without a lock: if threads read at the same time, that costs only another reading.
        if time.monotonic() - self._looked_at < _BETWEEN_S:
            return
        self._looked_at = time.monotonic()
        free = self._free()
        reserve = float(_RESERVE)
        if free.is_address_space:
            reserve = max(reserve, address_space() - self._taken_before)
        if free.bytes >= reserve:
            return
        with self._changed:
            this = self._running[threading.get_ident()]
            is_largest = all(
                (this.need.at_most, this.number) >= (other.need.at_most, other.number)
                for other in self._running.values()
            )
        if is_largest:
            raise OutOfMemory(
                f"out of memory after {now:.3g} s of simulated time: {_said(free.bytes)} are free of {free.of}"
            )


def need_of(cell: Cell) -> Need:
    """Estimate the memory that a cell needs."""
    users = cell.users_per_side
    flows = sum(_flows(source) for source in cell.resolved.get("sources", ()))
    return Need(_OF_ANY + _AT_START * users, _OF_ANY + _AT_MOST * users + _OF_A_FLOW * flows)


def _flows(source: Mapping[str, Any]) -> int:
    (table,) = source.values()
    return int(table.get("flows", table.get("users", 0)))


def release() -> None:
    """Return freed memory from the C library to the system."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def free_memory() -> Free:
    """Return the memory left by the tightest limit: that of this process, its control group or the machine."""
    limits = [Free(sys.maxsize, "memory")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(Free(max(0.0, soft - address_space()), "the address space (ulimit -v)", is_address_space=True))
    with suppress(OSError, KeyError, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        about = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        limits.append(Free(about["MemAvailable"] + about["SwapFree"], "the machine's memory"))
    limits += (Free(left, "the control group's memory") for left in _left_of_groups())
    return min(limits, key=lambda limit: limit.bytes)


def _left_of_groups() -> Iterator[float]:
    """Yield the memory left to each control group of this process; cached files count as free."""
    with suppress(OSError, ValueError):
        group = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip()
        place = Path("/sys/fs/cgroup", group.lstrip("/"))
        for directory in (place, *place.parents):
            if not (directory / "memory.max").exists():
                continue
            most = (directory / "memory.max").read_text().strip()
            if most != "max":
                stat = dict(line.split() for line in (directory / "memory.stat").read_text().splitlines())
                taken = int((directory / "memory.current").read_text()) - int(stat["file"])
                yield max(0.0, float(most) - taken)


def address_space() -> float:
    """Return the bytes of address space that this process has; 0 if the system does not report it."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * float(resource.getpagesize())
    return 0.0


def _users(cell: Cell) -> str:
    return f"a run of {counted(cell.users_per_side, 'user')} on each side " if cell.users_per_side else "a run "


def _said(size: float) -> str:
    return f"{size / 1e9:.2g} GB" if size >= 1e9 else f"{size / _MB:.0f} MB"


MEMORY = Memory()
"""The memory of this process."""
