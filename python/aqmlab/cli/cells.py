"""Cells, run and looked up."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab._core import SpecError
from aqmlab.show import messages

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.result import Result
    from aqmlab.running.cell import Cell
    from aqmlab.running.pcap import Pcap


class Interrupted(Exception):
    """A command was interrupted: what is kept, in one line."""


def run_cells(
    cells: Sequence[Cell], out: Path, workers: int | None, pcaps: Mapping[str, Pcap] | None = None
) -> list[Result]:
    """Run cells and show how far they are; an interrupt says what is kept."""
    from aqmlab.running.progress import SweepProgress
    from aqmlab.running.store import Store
    from aqmlab.running.sweep import sweep

    store = Store(out)
    pcaps = pcaps or {}
    with interruptible(cells, out), SweepProgress(cells, store, captured=pcaps) as watch:
        return sweep(cells, store, workers=workers, watch=watch, pcaps=pcaps)


@contextmanager
def interruptible(cells: Sequence[Cell], out: Path) -> Iterator[None]:
    """Say what is kept when cells are interrupted.

    Raises
    ------
    Interrupted
        On Ctrl-C.
    """
    from aqmlab.running.store import Store

    try:
        yield
    except KeyboardInterrupt as interrupt:
        for call in getattr(interrupt, "__notes__", ()):
            messages.logger.error(call)
        store = Store(out)
        distinct = {cell.key: cell for cell in cells}.values()
        kept = sum(store.get(cell) is not None for cell in distinct)
        what = f"interrupted; {kept} of {len(distinct)} cells are in the store, run again to go on"
        raise Interrupted(what) from None


def kept_cells(out: Path) -> pl.DataFrame:
    """List the cells of a results directory."""
    from aqmlab.running.store import Store

    if not os.path.isdir(out):  # noqa: PTH112 - Path's raises for a name that is too long
        raise SpecError(f"DIR: must be a results directory, got {out}")
    return Store(out).cells()
