"""What the commands of the command line have in common: options, units, refusals, the run of many cells."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from aqmlab._core import SpecError
from aqmlab._units import seconds
from aqmlab.cell import Cell
from aqmlab.pcap import Pcap
from aqmlab.progress import SweepProgress
from aqmlab.result import Result
from aqmlab.store import Store
from aqmlab.sweep import sweep

Workers = Annotated[int | None, typer.Option(min=1, max=1000, help="Cells run at a time.", show_default="one a core")]
Out = Annotated[Path, typer.Option(help="Results directory; cells it has are not run again.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def read(text: str, option: str, unit: Callable[[str], float] = seconds) -> float:
    """Read a quantity; what is wrong with it is said with the option's name."""
    try:
        return unit(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


@contextmanager
def one_line_refusals() -> Iterator[None]:
    """Turn what a user can mend into one line."""
    try:
        yield
    except ValueError as error:
        raise SpecError(str(error)) from None
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be written: {error.strerror}") from None


def run_cells(
    cells: Sequence[Cell], out: Path, workers: int | None, pcaps: Mapping[str, Pcap] | None = None
) -> list[Result]:
    """Run cells under a progress bar; an interrupt says what is kept."""
    store = Store(out)
    pcaps = pcaps or {}
    try:
        with SweepProgress(cells, store, captured=pcaps) as watch:
            return sweep(cells, store, workers=workers, watch=watch, pcaps=pcaps)
    except KeyboardInterrupt:
        print(f"aqmlab: stopped; the cells that were done are kept in {out}", file=sys.stderr)
        raise


def print_json(value: object) -> None:
    """Print for programs."""
    print(json.dumps(value, indent=2))
