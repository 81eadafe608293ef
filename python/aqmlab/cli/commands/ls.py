"""``aqmlab ls``: the cells of a results directory."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli.app import App
from aqmlab.cli.cells import kept_cells
from aqmlab.cli.options import Directory, Json
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command()
def ls(
    out: Directory = "results",
    paths: Annotated[bool, typer.Option("--paths", help="Print the cells' directories alone.")] = False,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """List the cells of a results directory, the newest last.

    Example: aqmlab explain "$(aqmlab ls --paths | tail -1)"
    """
    from aqmlab.running import table as tables
    from aqmlab.show import console

    check_table(table)
    cells = kept_cells(out, ["path"] if paths and table is None else None)
    write_table(cells, table)
    if paths:
        for path in cells["path"]:
            print(path)
    elif as_json:
        print_json([{**row, "created": row["created"].isoformat()} for row in cells.to_dicts()])
    else:
        console.show(tables.cells(cells.to_dicts()))
