"""Execution of cells by an executor: processes of this machine, or a cluster.

A worker gets a cell and the name of a results directory that it shares with this process, and returns the cell's
failure, if any. The results are in the store.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from aqmlab.campaigns.failures import Failure, RemoteError
from aqmlab.cells.cell import Cell
from aqmlab.disciplines.custom import finder
from aqmlab.running.machine.cpus import available_cpus
from aqmlab.running.sweep import FATAL_ERRORS, FailureCallback, Watch, run_missing
from aqmlab.storage.errors import StoreError
from aqmlab.storage.location import Location
from aqmlab.storage.memoize import memoize
from aqmlab.store.store import Store


def run_cells_with(
    cells: Sequence[Cell],
    store: Store,
    *,
    executor: Executor | None,
    workers: int | None,
    on_failure: FailureCallback,
    watch: Watch = lambda cell, now, end: None,
    limit_s: float | None = None,
) -> None:
    """Run cells by an executor, or by threads of this process.

    Raises
    ------
    KeyboardInterrupt, StoreError
        As :func:`run_with_executor`.
    """
    if executor is None:
        run_missing(cells, store, workers=workers, watch=watch, on_failure=on_failure, limit_s=limit_s)
    else:
        run_with_executor(executor, cells, store.out, watch=watch, on_failure=on_failure, limit_s=limit_s)


@contextmanager
def choose_executor(
    executor: Executor | None, *, custom: Iterable[str], out: Location, workers: int | None
) -> Iterator[Executor | None]:
    """Return the given executor; without one, processes if there are custom classes, otherwise ``None`` for threads."""
    if executor is None and _wants_processes(set(custom)) and not _is_of_one_process(out):
        with _processes(workers) as pool:
            yield pool
    else:
        yield executor


def run_with_executor(
    executor: Executor,
    cells: Sequence[Cell],
    out: Location,
    *,
    watch: Watch,
    on_failure: FailureCallback,
    limit_s: float | None,
) -> None:
    """Run cells by an executor.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; cells that have not begun are cancelled.
    StoreError
        When a file cannot be written, or the executor is broken, for example because a worker was killed. No cell
        counts as failed.
    """
    # A worker may have another current directory.
    location = out.resolve() if isinstance(out, Path) else out
    futures = {executor.submit(run_local, cell, location, limit_s): cell for cell in cells}
    try:
        for future in as_completed(futures):
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                raise StoreError(f"a worker was lost ({error}): run the command again to resume")
            if isinstance(error, FATAL_ERRORS):
                raise error
            if error is None and (failure := future.result()) is not None:
                error = RemoteError(failure.error)
            cell = futures[future]
            if error is None:
                watch(cell, cell.end_s, cell.end_s)
            else:
                on_failure(cell, error)
    finally:
        for future in futures:
            future.cancel()


def run_local(cell: Cell, out: Location, limit_s: float | None) -> Failure | None:
    """Run a cell in this process, and return its failure, if any."""
    failures: list[Failure] = []

    def on_failure(cell: Cell, error: BaseException) -> None:
        failures.append(Failure.from_error(cell, error))

    run_missing([cell], _store(out), workers=1, on_failure=on_failure, limit_s=limit_s)
    return failures[0] if failures else None


@memoize
def _store(out: str) -> Store:
    """Open a results directory once in each process, because opening lists all cells."""
    return Store(out)


def _wants_processes(custom: Collection[str]) -> bool:
    """Return true if there are classes in Python that processes can import: only processes run them in parallel."""
    return bool(custom) and all(finder.exists(name) and not name.startswith("__main__:") for name in custom)


def _is_of_one_process(out: Location) -> bool:
    """Return true if other processes cannot see the location."""
    return getattr(out, "protocol", "") == "memory"


@contextmanager
def _processes(workers: int | None) -> Iterator[Executor]:
    """Return an executor of processes, which are terminated if the block ends with an error."""
    context, earlier = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers or available_cpus(), mp_context=context, initializer=_ignore_sigint)
    with _safe_path(), pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - earlier:
                process.terminate()
            raise


@contextmanager
def _safe_path() -> Iterator[None]:
    """Start processes without the current directory on their path, where a file ``signal.py`` would be imported."""
    previous = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if previous is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = previous


def _ignore_sigint() -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes: the parent handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
