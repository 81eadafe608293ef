"""``aqmlab check``: check of every file of a results directory by its checksum."""

from __future__ import annotations

import typer

from aqmlab.cli.app import App
from aqmlab.cli.options import Directory, Json
from aqmlab.cli.output import print_json
from aqmlab.ui import messages

app = App()


@app.command()
def check(out: Directory = "results", as_json: Json = False) -> None:
    """Compare every file of a store with its checksum.

    aqmlab checks what it reads. DuckDB and other programs do not: check a
    directory before you query it. The exit code is 1 when a cell is damaged;
    run its experiment again, or remove it.
    """
    from aqmlab.store.store import Store

    store = Store(out)
    store.check_is_store("DIR")
    damaged = store.check()
    cells = len(store.keys())
    if as_json:
        print_json({"cells": cells, "damaged": [str(damage) for damage in damaged]})
    else:
        for damage in damaged:
            messages.logger.error("%s", damage)
        print(f"{cells:,} {'cell' if cells == 1 else 'cells'} checked, {len(damaged):,} damaged")
    if damaged:
        raise typer.Exit(1)
