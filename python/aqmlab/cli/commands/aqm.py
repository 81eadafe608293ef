"""``aqmlab aqm``: the queue disciplines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from aqmlab._core import SpecError
from aqmlab.cli.app import App
from aqmlab.cli.options import Json
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table

app = App(name="aqm", help="List and describe queue disciplines.")


@app.command("list")
def list_disciplines(file: TableFile = None, as_json: Json = False) -> None:
    """List the queue disciplines."""
    from aqmlab.disciplines import catalogue, table
    from aqmlab.ui import console

    check_table(file)
    entries = catalogue.disciplines().values()
    write_table(table.disciplines_frame(entries), file)
    if as_json:
        print_json([_without_page(asdict(entry)) for entry in entries])
    else:
        console.show(table.disciplines(entries))


@app.command("show")
def show_discipline(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A discipline, or module:Class for a custom law.")],
    file: TableFile = None,
    as_json: Json = False,
) -> None:
    """Show a discipline's page and its parameters with their units, defaults, meanings and sources."""
    from aqmlab.disciplines import table
    from aqmlab.disciplines.custom import registry

    check_table(file)
    try:
        entry = registry.discipline(name)
    except ValueError as error:
        raise SpecError(str(error)) from None
    write_table(table.parameters_frame(entry), file)
    if as_json:
        print_json(asdict(entry))
    else:
        table.show_page(entry)


def _without_page(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "page"}
