"""Many cells side by side: threads, since a running engine holds no Python lock."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import CodeType, FrameType, MappingProxyType

from aqmlab.disciplines.custom import errors
from aqmlab.results.result import Result
from aqmlab.running.cell import Cell
from aqmlab.running.cpus import usable
from aqmlab.running.pcap import Pcap
from aqmlab.running.run import run_cell
from aqmlab.running.store import Store

Watch = Callable[[Cell, float, float], None]
"""Told a cell, its simulated time and the end of that, in seconds; called from several threads."""


_PATIENCE_S = 0.5
"""A call of a law that takes longer than this after the end of a sweep is ended."""


class _Stopped(BaseException):
    """The sweep is over before this cell is. No ``Exception``: a law that catches all of those must not keep it."""


def sweep(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    watch: Watch = lambda cell, now, end: None,
    pcaps: Mapping[str, Pcap] = MappingProxyType({}),
) -> list[Result]:
    """Run what the store does not have yet; return the results in the order of the cells.

    Parameters
    ----------
    cells
        What to run. Cells that are the same experiment with the same seed are run once.
    store
        Where results are looked for and kept.
    workers
        How many run at a time; by default as many as this process may use processors.
    watch
        Told of the progress.
    pcaps
        Packet captures to be made, by the key of their cell.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C. A custom law that does not come back is ended as well, and named in a note
        (``__notes__``).
    """
    stop = threading.Event()
    at_work: set[int] = set()

    def work(cell: Cell) -> None:
        at_work.add(threading.get_ident())
        try:
            run_unless_stopped(cell)
        finally:
            at_work.discard(threading.get_ident())

    def run_unless_stopped(cell: Cell) -> None:
        def look(now: float, end: float) -> None:
            watch(cell, now, end)
            if stop.is_set():
                raise _Stopped

        run_cell(cell, store, look, pcap=pcaps.get(cell.key))

    distinct = {cell.key: cell for cell in reversed(cells)}
    with ThreadPoolExecutor(workers or usable()) as pool:
        pending: set[Future[None]] = set()
        try:
            pending = {pool.submit(work, cell) for cell in reversed(distinct.values())}
            while pending:
                # A signal that comes just before an endless wait would be heard only when a cell is done.
                done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
                for run in done:
                    run.result()
        except BaseException as error:
            # An error in one cell or an interrupt, be it while they start, ends all: each hears of it at its next step.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for call in _end_calls({run for run in pending if not run.cancelled()}, at_work):
                error.add_note(call)
            raise
    return [run_cell(cell, store) for cell in cells]


def _end_calls(pending: set[Future[None]], at_work: Collection[int]) -> list[str]:
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
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Stopped))
        before = calls
    return list(ended.values())
