"""Many cells side by side: threads, since a running engine holds no Python lock."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from traceback import clear_frames
from types import CodeType, FrameType, MappingProxyType
from typing import TypeVar

from aqmlab.cells.cell import Cell
from aqmlab.disciplines.custom import errors
from aqmlab.running.machine.cpus import available_cpus
from aqmlab.running.machine.memory import MEMORY, OutOfMemory, release
from aqmlab.running.pcap import Pcap
from aqmlab.running.run import Watch as RunWatch
from aqmlab.running.run import run_cell
from aqmlab.storage.errors import StoreError
from aqmlab.store.result import Result
from aqmlab.store.store import Store

Watch = Callable[[Cell, float, float], None]
"""Told a cell, its simulated time and the end of that, in seconds; called from several threads."""

Failed = Callable[[Cell, BaseException], None]
"""Told of a cell that cannot be run, and why."""

Given = TypeVar("Given")
"""What is wanted of a cell that is simulated."""

_PATIENCE_S = 0.5
"""A call of a law that takes longer than this after its cell is to end is ended."""

FATAL = (KeyboardInterrupt, StoreError)
"""What is no cell's fault: a full disk ends a sweep, whoever runs its cells."""


class _Stopped(errors.Ended):
    """The sweep is over before this cell is."""


class CellTimeout(errors.Ended):
    """A cell took longer than it may."""


def sweep(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    kept: Mapping[str, Result] | None = None,
    watch: Watch = lambda cell, now, end: None,
    pcaps: Mapping[str, Pcap] = MappingProxyType({}),
) -> list[Result]:
    """Run what the store does not have yet; return the results in the order of the cells.

    ``kept`` is what the store has of them, where somebody has looked before. The other parameters and the errors are
    those of :func:`run_missing`; an error in one cell ends all.
    """
    found = dict(store.found(cells, missing_are_run=True) if kept is None else kept)
    missing = [cell for cell in cells if cell.key not in found or cell.key in pcaps]
    found |= run_missing(missing, store, workers=workers, watch=watch, pcaps=pcaps)
    # The same cell may have been typed in several ways.
    return [replace(found[cell.key], cell=cell) for cell in cells]


def run_missing(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    watch: Watch = lambda cell, now, end: None,
    pcaps: Mapping[str, Pcap] = MappingProxyType({}),
    failed: Failed | None = None,
    limit_s: float | None = None,
) -> dict[str, Result]:
    """Run what the store does not have; return the results by the keys of their cells.

    Parameters and errors are those of :func:`each_cell`, and ``pcaps``: packet captures to be made, by the key of their
    cell.
    """

    def run(cell: Cell, look: RunWatch) -> Result:
        return run_cell(cell, store, look, pcap=pcaps.get(cell.key))

    return map_cells(cells, run, workers=workers, watch=watch, failed=failed, limit_s=limit_s)


def map_cells(
    cells: Sequence[Cell],
    run: Callable[[Cell, RunWatch], Given],
    *,
    workers: int | None = None,
    watch: Watch = lambda cell, now, end: None,
    failed: Failed | None = None,
    limit_s: float | None = None,
) -> dict[str, Given]:
    """Simulate each of some cells, for whatever is wanted of it; return that by the keys of the cells.

    Parameters
    ----------
    cells
        What to run. Cells that are the same experiment with the same seed are run once.
    run
        Runs one, tells how far it is, and returns what is wanted of it.
    workers
        How many run at a time; by default as many as this process may use processors.
    watch
        Told of the progress.
    failed
        Told of a cell that fails, and the others go on; without it an error in one cell ends all.
    limit_s
        A cell that takes longer, in seconds of wall time, fails by :class:`Overdue`.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C. A custom law that does not come back is ended as well, and named in a note
        (``__notes__``).
    StoreError
        When a file cannot be written, whoever is told of failures.
    OutOfMemory
        When a cell needs more memory than there is, and ``failed`` is not given.
    """
    stop = threading.Event()
    begun: dict[int, float] = {}

    def check_stop() -> None:
        if stop.is_set():
            raise _Stopped

    def work(cell: Cell) -> Given:
        try:
            with MEMORY.room_for(cell, check_stop) as check_memory:
                begun[threading.get_ident()] = started = time.monotonic()

                def look(now: float, end: float) -> None:
                    watch(cell, now, end)
                    check_stop()
                    check_memory(now)
                    if limit_s is not None and time.monotonic() - started > limit_s:
                        raise CellTimeout(f"took longer than {limit_s:g} s")

                return run(cell, look)
        except OutOfMemory as error:
            # The frames of the error hold what the cell has taken.
            clear_frames(error.__traceback__)
            release()
            raise
        finally:
            begun.pop(threading.get_ident(), None)

    results: dict[str, Given] = {}
    distinct = {cell.key: cell for cell in reversed(cells)}
    with ThreadPoolExecutor(workers or available_cpus()) as pool:
        pending: dict[Future[Given], Cell] = {}
        # Each is told of once: to wait for any of ten thousand looks at all of them, ten thousand times.
        ended: SimpleQueue[Future[Given]] = SimpleQueue()
        try:
            for cell in reversed(distinct.values()):
                future = pool.submit(work, cell)
                pending[future] = cell
                future.add_done_callback(ended.put)
            while pending:
                # A signal that comes just before an endless wait would be heard only when a cell is done.
                with suppress(Empty):
                    future = ended.get(timeout=0.5)
                    cell, error = pending.pop(future), future.exception()
                    if error is None:
                        results[cell.key] = future.result()
                    elif failed is None or isinstance(error, FATAL):
                        raise error
                    else:
                        failed(cell, error)
                if limit_s is not None:
                    _cancel_timed_out(begun, limit_s)
        except BaseException as error:
            # An error in one cell or an interrupt, be it while they start, ends all: each hears of it at its next step.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for call in _end_calls({run for run in pending if not run.cancelled()}, begun):
                error.add_note(call)
            raise
    return results


def _cancel_timed_out(begun: Mapping[int, float], limit_s: float) -> None:
    """End the calls of laws that keep a cell from hearing that its time is over."""
    for thread, started in list(begun.items()):
        call = errors.call_under_way(thread)
        if call is not None and time.monotonic() - started > limit_s + _PATIENCE_S:
            _interrupt(thread, CellTimeout)


def _end_calls(pending: set[Future[Given]], at_work: Collection[int]) -> list[str]:
    """Wait for cells that are to stop; end the calls of laws that do not come back, and say which they were."""
    ended: dict[CodeType, str] = {}
    before: dict[int, FrameType | None] = {}
    while pending:
        _, pending = wait(pending, timeout=_PATIENCE_S)
        calls = {thread: errors.call_under_way(thread) for thread in list(at_work)}
        for thread, call in calls.items():
            if call is not None and call is before.get(thread):
                # The engine may call again before it hears: that call is ended too, perhaps at another line.
                ended.setdefault(call.f_code, errors.unfinished(call))
                _interrupt(thread, _Stopped)
        before = calls
    return list(ended.values())


def _interrupt(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
