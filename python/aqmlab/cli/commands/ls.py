"""``aqmlab ls``: the cells of a results directory."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.cells import kept_cells
from aqmlab.cli.options import Directory, Json
from aqmlab.cli.output import print_json

app = App()


@app.command()
def ls(
    out: Directory = "results",
    paths: Annotated[bool, typer.Option("--paths", help="Print the cells' directories alone.")] = False,
    as_json: Json = False,
) -> None:
    """List the cells of a results directory, the newest last.

    Example: aqmlab explain "$(aqmlab ls --paths | tail -1)"
    """
    from aqmlab.running import table
    from aqmlab.show import console

    cells = kept_cells(out)
    if paths:
        for path in cells["path"]:
            print(path)
    elif as_json:
        print_json([{**row, "created": row["created"].isoformat()} for row in cells.to_dicts()])
    else:
        console.show(table.cells(cells.to_dicts()))
