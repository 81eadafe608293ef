"""``aqmlab rm``: removal of cells from a results directory."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli import selection
from aqmlab.cli.app import App
from aqmlab.cli.cells import stored_cells
from aqmlab.cli.options import read
from aqmlab.cli.output import one_line_errors

if TYPE_CHECKING:
    import polars as pl

app = App()


@app.command()
def rm(
    which: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR] [CELL]...",
            help="The results directory, or s3://...; keys or directories of cells. [default: results]",
            show_default=False,
        ),
    ] = None,
    scheme: Annotated[
        str | None, typer.Option(metavar="SCHEME", help="Select a scheme as typed, or a discipline.")
    ] = None,
    older_than: Annotated[str | None, typer.Option(metavar="AGE", help='Select older cells, such as "7 d".')] = None,
    where: selection.Where = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Remove cells of a results directory.

    Removes the cells that match every argument and option.

    Example: aqmlab rm --scheme red --older-than "7 d"
    """
    import polars as pl

    from aqmlab.store.store import Store

    out, keys = _split_arguments(which or [])
    conditions = []
    if keys:
        conditions.append(pl.col("cell").is_in(keys))
    if scheme is not None:
        conditions.append((pl.col("label") == scheme) | (pl.col("scheme") == scheme))
    if older_than is not None:
        with one_line_errors():
            age_s = read(older_than, "--older-than")
        conditions.append(time.time() - pl.col("created").dt.epoch("ms") / 1e3 > age_s)
    if not conditions and not where:
        raise SpecError("rm: must have CELL, --scheme, --older-than or --where, got none")
    all_cells = stored_cells(out)
    if missing := [key for key in keys if key not in all_cells["cell"]]:
        raise SpecError(f"CELL: {out} has no cell {missing[0]}")
    cells = selection.filter_cells(all_cells.filter(pl.lit(True), *conditions), where or ())
    summary = f"{_cell_count(cells.height)} of {out}, {sum(cells['bytes']) / 1e6:,.1f} MB"
    if cells.is_empty():
        print(f"{summary}: nothing to remove")
    elif yes or _confirm(f"Remove {summary}: {_labels(cells)}?"):
        store = Store(out)
        for key in cells["cell"]:
            store.remove(key)
        print(f"removed {summary}")
    else:
        print("nothing is removed")
        raise typer.Exit(1)


def _split_arguments(which: Sequence[str]) -> tuple[str, list[str]]:
    """Return the directory and the keys of the named cells, each given by its key or its directory."""
    directories: list[str] = []
    keys: list[str] = []
    for text in which:
        cell = re.fullmatch(r"(?:(?P<directory>.*?)/?\bcells/)?(?P<key>[0-9a-f]{16})/?", text)
        if cell is None:
            directories.append(text)
            continue
        keys.append(cell["key"])
        if cell["directory"] is not None:
            directories.append(cell["directory"] or ".")
    if len(set(directories)) > 1:
        raise SpecError(f"DIR: must be one directory, got {' and '.join(dict.fromkeys(directories))}")
    return (directories[0] if directories else "results"), keys


def _confirm(question: str) -> bool:
    if not sys.stdin.isatty():
        raise SpecError("rm: asks for confirmation, and standard input is not a terminal: add --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _labels(cells: pl.DataFrame) -> str:
    label_counts = [f"{label} ({count})" for label, count in cells["label"].value_counts(sort=True).iter_rows()]
    return ", ".join(label_counts[:5]) + (f" and {len(label_counts) - 5} more" if len(label_counts) > 5 else "")


def _cell_count(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells:,} cells"
