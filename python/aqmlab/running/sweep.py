"""Parallel runs of many cells in threads: the engine releases Python's global lock while it runs."""

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
from aqmlab.running.progress import SweepProgress, is_wanted
from aqmlab.running.run import Watch as RunWatch
from aqmlab.running.run import run_cell
from aqmlab.storage.errors import StoreError
from aqmlab.store.result import Result
from aqmlab.store.store import Store

Watch = Callable[[Cell, float, float], None]
"""A callback that gets a cell, its simulated time and its end, in seconds. It is called from several threads."""

FailureCallback = Callable[[Cell, BaseException], None]
"""A callback that gets a failed cell and the error."""

Value = TypeVar("Value")
"""The result that a caller computes from a simulated cell."""

_PATIENCE_S = 0.5
"""The time that a call of a custom law may still take after its cell must stop; then it is interrupted."""

FATAL_ERRORS = (KeyboardInterrupt, StoreError)
"""The errors that end a sweep with every executor, such as a full disk: no cell causes them."""


class _Stopped(errors.Ended):
    """The sweep ended before this cell."""


class CellTimeout(errors.Ended):
    """A cell exceeded its time limit."""


def sweep(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    stored: Mapping[str, Result] | None = None,
    watch: Watch = lambda cell, now, end: None,
    pcaps: Mapping[str, Pcap] = MappingProxyType({}),
) -> list[Result]:
    """Run the missing cells; return the results in the order of the cells.

    ``stored`` has the stored results, if the caller has read them already. The other parameters and the errors are
    those of :func:`run_missing`; an error in one cell ends all.
    """
    results = dict(store.find(cells, will_run_missing=True) if stored is None else stored)
    missing = [cell for cell in cells if cell.key not in results or cell.key in pcaps]
    results |= run_missing(missing, store, workers=workers, watch=watch, pcaps=pcaps)
    # The same cell may have several labels.
    return [replace(results[cell.key], cell=cell) for cell in cells]


def sweep_with_progress(
    cells: Sequence[Cell],
    store: Store,
    progress: bool | None,
    *,
    workers: int | None = None,
    pcaps: Mapping[str, Pcap] = MappingProxyType({}),
) -> list[Result]:
    """Run the missing cells as :func:`sweep` does, and show progress if it is wanted."""
    if not is_wanted(progress):
        return sweep(cells, store, workers=workers, pcaps=pcaps)
    stored = store.find(cells, will_run_missing=True)
    with SweepProgress(cells, stored, captured=pcaps) as watch:
        return sweep(cells, store, workers=workers, stored=stored, watch=watch, pcaps=pcaps)


def run_missing(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    watch: Watch = lambda cell, now, end: None,
    pcaps: Mapping[str, Pcap] = MappingProxyType({}),
    on_failure: FailureCallback | None = None,
    limit_s: float | None = None,
) -> dict[str, Result]:
    """Run cells, and return the results by the keys of their cells.

    Parameters and errors are those of :func:`map_cells`; ``pcaps`` has the packet captures to write, by cell key.
    """

    def run(cell: Cell, on_step: RunWatch) -> Result:
        return run_cell(cell, store, on_step, pcap=pcaps.get(cell.key))

    return map_cells(cells, run, workers=workers, watch=watch, on_failure=on_failure, limit_s=limit_s)


def map_cells(
    cells: Sequence[Cell],
    run: Callable[[Cell, RunWatch], Value],
    *,
    workers: int | None = None,
    watch: Watch = lambda cell, now, end: None,
    on_failure: FailureCallback | None = None,
    limit_s: float | None = None,
) -> dict[str, Value]:
    """Call a function for each cell, in parallel, and return the results by the keys of the cells.

    Parameters
    ----------
    cells
        The cells to run. Duplicates are run once.
    run
        Runs one cell, calls its second argument after each step, and returns a result.
    workers
        The number of cells to run at a time; by default the number of processors that this process may use.
    watch
        The callback for progress.
    on_failure
        The callback for a failed cell; the others continue. Without it an error in one cell ends all.
    limit_s
        The time limit of a cell in seconds of wall time; a longer one fails with :class:`CellTimeout`.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C. A call of a custom law that does not return is interrupted, and named in a note (``__notes__``).
    StoreError
        When a file cannot be written, also with ``on_failure``.
    OutOfMemory
        When a cell needs more memory than is available, and ``on_failure`` is not given.
    """
    stop = threading.Event()
    started_at: dict[int, float] = {}

    def check_stop() -> None:
        if stop.is_set():
            raise _Stopped

    def work(cell: Cell) -> Value:
        try:
            with MEMORY.room_for(cell, check_stop) as check_memory:
                started_at[threading.get_ident()] = started = time.monotonic()

                def on_step(now: float, end: float) -> None:
                    watch(cell, now, end)
                    check_stop()
                    check_memory(now)
                    if limit_s is not None and time.monotonic() - started > limit_s:
                        raise CellTimeout(f"took longer than {limit_s:g} s")

                return run(cell, on_step)
        except OutOfMemory as error:
            # The frames of the error keep the memory of the cell alive.
            clear_frames(error.__traceback__)
            release()
            raise
        finally:
            started_at.pop(threading.get_ident(), None)

    results: dict[str, Value] = {}
    distinct = {cell.key: cell for cell in reversed(cells)}
    with ThreadPoolExecutor(workers or available_cpus()) as pool:
        pending: dict[Future[Value], Cell] = {}
        # A queue of completed futures: ``wait`` would scan all pending ones for each completed one.
        finished: SimpleQueue[Future[Value]] = SimpleQueue()
        try:
            for cell in reversed(distinct.values()):
                future = pool.submit(work, cell)
                pending[future] = cell
                future.add_done_callback(finished.put)
            while pending:
                # Without a timeout, a signal just before the wait would act only after the next cell.
                with suppress(Empty):
                    future = finished.get(timeout=0.5)
                    cell, error = pending.pop(future), future.exception()
                    if error is None:
                        results[cell.key] = future.result()
                    elif on_failure is None or isinstance(error, FATAL_ERRORS):
                        raise error
                    else:
                        on_failure(cell, error)
                if limit_s is not None:
                    _cancel_timed_out(started_at, limit_s)
        except BaseException as error:
            # An error in one cell, or an interrupt, stops every other cell at its next step.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for call in _end_calls({run for run in pending if not run.cancelled()}, started_at):
                error.add_note(call)
            raise
    return results


def _cancel_timed_out(started_at: Mapping[int, float], limit_s: float) -> None:
    """Interrupt calls of custom laws that keep a cell from checking its time limit."""
    for thread, started in list(started_at.items()):
        call = errors.current_call(thread)
        if call is not None and time.monotonic() - started > limit_s + _PATIENCE_S:
            _interrupt(thread, CellTimeout)


def _end_calls(pending: set[Future[Value]], threads: Collection[int]) -> list[str]:
    """Wait for cells that must stop; interrupt calls of custom laws that do not return, and describe them."""
    ended: dict[CodeType, str] = {}
    previous: dict[int, FrameType | None] = {}
    while pending:
        _, pending = wait(pending, timeout=_PATIENCE_S)
        calls = {thread: errors.current_call(thread) for thread in list(threads)}
        for thread, call in calls.items():
            if call is not None and call is previous.get(thread):
                # The engine may call the law again before it stops; that call is interrupted too.
                ended.setdefault(call.f_code, errors.unfinished(call))
                _interrupt(thread, _Stopped)
        previous = calls
    return list(ended.values())


def _interrupt(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
