"""``aqmlab ls``: list of the cells of a results directory."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli import selection
from aqmlab.cli.app import App
from aqmlab.cli.cells import stored_cells
from aqmlab.cli.options import Directory, Json
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App()


@app.command()
def ls(
    out: Directory = "results",
    where: selection.Where = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Select cells with this tag, or of experiments with it.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...", help="Show these columns, or paths of the spec: cell,rate_mbps,tcp.congestion."
        ),
    ] = None,
    paths: Annotated[bool, typer.Option("--paths", help="Print only the cells' directories.")] = False,
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """List the cells of a results directory, the newest last.

    Example: aqmlab explain "$(aqmlab ls --paths | tail -1)"
    """
    from aqmlab.store import table as tables
    from aqmlab.ui import console

    check_table(table)
    is_plain = where is None and tag is None and columns is None and table is None and not as_json
    columns_to_read = (["path"] if paths else tables.COLUMNS) if is_plain else None
    cells = selection.filter_cells(stored_cells(out, columns_to_read), where or ())
    for word in tag or ():
        cells = selection.tagged(cells, word, out)
    rows = cells if columns is None else selection.columns(cells, [name.strip() for name in columns.split(",")])
    write_table(rows, table)
    if paths:
        for path in cells["path"]:
            print(path)
    elif as_json:
        print_json([_json_row(row) for row in rows.to_dicts()])
    else:
        console.show(tables.cells(rows) if columns is None else tables.frame(rows))


def _json_row(row: dict[str, object]) -> dict[str, object]:
    from datetime import datetime

    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}
