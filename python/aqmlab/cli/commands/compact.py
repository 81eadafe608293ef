"""``aqmlab compact``: the summaries of a results directory in one file."""

from __future__ import annotations

from aqmlab.cli.app import App
from aqmlab.cli.cells import kept_cells
from aqmlab.cli.options import Directory

app = App()


@app.command()
def compact(out: Directory = "results") -> None:
    """Put the summaries of all cells into one file.

    They are listed at once then. The cells stay as they are; those that are run later are read beside it, until this
    is said again.
    """
    from aqmlab.running.files.location import location
    from aqmlab.running.store import Store

    kept_cells(out)
    number = Store(out).compact()
    print(f"{number:,} {'cell' if number == 1 else 'cells'} in {location(out) / 'cells.parquet'}")
