"""``aqmlab rm``: cells of a results directory, removed."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.cells import kept_cells
from aqmlab.cli.options import Directory, read
from aqmlab.cli.output import one_line_refusals

if TYPE_CHECKING:
    import polars as pl

app = App()


@app.command()
def rm(
    out: Directory = "results",
    scheme: Annotated[
        str | None, typer.Option(metavar="SCHEME", help="Those of a scheme as it was typed, or of a discipline.")
    ] = None,
    older_than: Annotated[str | None, typer.Option(metavar="AGE", help='Those made longer ago, such as "7 d".')] = None,
    results: Annotated[int | None, typer.Option(metavar="N", help="Those of an engine's results number.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove cells of a results directory.

    Those go that are all that is asked for.

    Example: aqmlab rm --scheme red --older-than "7 d"
    """
    import polars as pl

    from aqmlab.running.store import Store

    wanted = []
    if scheme is not None:
        wanted.append((pl.col("label") == scheme) | (pl.col("scheme") == scheme))
    if older_than is not None:
        with one_line_refusals():
            age_s = read(older_than, "--older-than")
        wanted.append(time.time() - pl.col("created").dt.epoch("ms") / 1e3 > age_s)
    if results is not None:
        wanted.append(pl.col("results") == results)
    if not wanted:
        raise SpecError("rm: say which cells: --scheme, --older-than or --results")
    cells = kept_cells(out).filter(wanted)
    what = f"{_counted(cells.height)} of {out}, {sum(cells['bytes']) / 1e6:,.1f} MB"
    if cells.is_empty():
        print(f"{what}: nothing to remove")
    elif yes or _agreed(f"Remove {what}: {_labels(cells)}?"):
        store = Store(out)
        for key in cells["cell"]:
            store.remove(key)
        print(f"removed {what}")
    else:
        print("nothing is removed")
        raise typer.Exit(1)


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise SpecError("rm: asks before it removes, and nobody is there to answer: say --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _labels(cells: pl.DataFrame) -> str:
    counted = [f"{label} ({count})" for label, count in cells["label"].value_counts(sort=True).iter_rows()]
    return ", ".join(counted[:5]) + (f" and {len(counted) - 5} more" if len(counted) > 5 else "")


def _counted(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells:,} cells"
