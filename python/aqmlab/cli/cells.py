"""Running and listing cells for commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aqmlab.ui import messages

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.cells.cell import Cell
    from aqmlab.running.pcap import Pcap
    from aqmlab.store.result import Result


class Interrupted(Exception):
    """A command was interrupted; the message says in one line what the store keeps."""


def run_cells(
    cells: Sequence[Cell], out: str, workers: int | None, pcaps: Mapping[str, Pcap] | None = None
) -> list[Result]:
    """Run cells with progress; after an interrupt report the stored cells."""
    from aqmlab.running.progress import SweepProgress
    from aqmlab.running.sweep import sweep
    from aqmlab.store.store import Store

    store = Store(out)
    pcaps, stored = pcaps or {}, store.find(cells, will_run_missing=True)
    with interruptible(cells, out), SweepProgress(cells, stored, captured=pcaps) as watch:
        return sweep(cells, store, workers=workers, stored=stored, watch=watch, pcaps=pcaps)


def run_live_cells(cells: Sequence[Cell], out: str) -> list[Result]:
    """Run live cells, one at a time, with progress; after an interrupt report the stored cells."""
    from aqmlab.live import run
    from aqmlab.store.store import Store

    with interruptible(cells, out):
        return run.run_live_cells(cells, Store(out), progress=True)


@contextmanager
def interruptible(cells: Sequence[Cell], out: str) -> Iterator[None]:
    """Report the stored cells after an interrupt.

    Raises
    ------
    Interrupted
        On Ctrl-C.
    """
    from aqmlab.store.store import Store

    try:
        yield
    except KeyboardInterrupt as interrupt:
        for call in getattr(interrupt, "__notes__", ()):
            messages.logger.error(call)
        stored_count, distinct = len(Store(out).find(cells)), len({cell.key for cell in cells})
        message = f"interrupted; {stored_count} of {distinct} cells are in the store; run the command again to resume"
        raise Interrupted(message) from None


def stored_cells(out: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the cells of a results directory, with these columns or all."""
    from aqmlab.store.store import Store

    store = Store(out)
    store.check_is_store("DIR")
    return store.cells(columns)
