"""Many cells side by side: threads, since a running engine holds no Python lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from types import MappingProxyType

from aqmlab.cell import Cell
from aqmlab.pcap import Pcap
from aqmlab.result import Result
from aqmlab.run import run_cell
from aqmlab.store import Store

Watch = Callable[[Cell, float, float], None]
"""Told a cell, its simulated time and the end of that, in seconds; called from several threads."""


class _Stopped(Exception):
    """The sweep is over before this cell is."""


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
        How many run at a time; by default as many as there are cores.
    watch
        Told of the progress.
    pcaps
        Packet captures to be made, by the key of their cell.
    """
    stop = threading.Event()

    def work(cell: Cell) -> None:
        def look(now: float, end: float) -> None:
            watch(cell, now, end)
            if stop.is_set():
                raise _Stopped

        run_cell(cell, store, look, pcap=pcaps.get(cell.key))

    distinct = {cell.key: cell for cell in reversed(cells)}
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        try:
            pending = {pool.submit(work, cell) for cell in reversed(distinct.values())}
            while pending:
                # A signal that comes just before an endless wait would be heard only when a cell is done.
                done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
                for run in done:
                    run.result()
        except BaseException:
            # An error in one cell or an interrupt, be it while they start, ends all: each hears of it at its next step.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [run_cell(cell, store) for cell in cells]
