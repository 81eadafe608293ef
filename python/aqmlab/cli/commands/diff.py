"""``aqmlab diff``: differences between cells, stores or results numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab.cli import selection
from aqmlab.cli.app import App
from aqmlab.cli.options import Json, Out
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.ui.counts import counted

if TYPE_CHECKING:
    from aqmlab.results.numbers.diff import Diff
    from aqmlab.store.result import Result

app = App()

_HELP = "A cell (a unique prefix of its key is enough), a results directory, or a condition such as results=41."


@app.command()
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=_HELP)],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, for the other side.")],
    out: Out = "results",
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Show the differences between two cells or stores.

    Lists the values of the spec that differ, and the measures that differ between cells of the same scheme and seed.
    With several seeds, the differences have paired 95 % intervals. --table writes the measures.

    Example: aqmlab diff results other-results

    Example: aqmlab diff results=41 results=42 --table changed.csv
    """
    from aqmlab.results.grouping import invalid_note, split_valid
    from aqmlab.results.numbers.diff import diff as differences_of

    check_table(table)
    sides, invalid = zip(*(split_valid(selection.results(text, out)) for text in (a, b)), strict=True)
    found = differences_of(*sides)
    notes = [note for each in invalid for note in invalid_note(each)]
    write_table(found.measures, table)
    if as_json:
        only = [[result.place.name for result in side] for side in found.only]
        rows = {"values": found.values.to_dicts(), "measures": found.measures.to_dicts()}
        print_json({**rows, "pairs": found.pairs, "only_a": only[0], "only_b": only[1], "notes": notes})
    else:
        _print(found, notes)


def _print(found: Diff, notes: list[str]) -> None:
    import polars as pl

    from aqmlab.store import table as tables
    from aqmlab.ui import console

    if not found.values.is_empty():
        console.show(tables.frame(found.values))
    if not found.measures.is_empty():
        rounded = pl.selectors.float().round_sig_figs(4)
        console.show(tables.frame(found.measures.with_columns(rounded)))
    if found.is_empty:
        print(f"Nothing differs in {counted(found.pairs, 'pair')} of cells: neither a value of the spec nor a measure.")
    elif found.pairs and found.measures.is_empty():
        print(f"No measure differs in {counted(found.pairs, 'pair')} of cells.")
    for side, only in zip("AB", found.only, strict=True):
        if only:
            print(f"Only in {side}: {_listed(only)}")
    for note in notes:
        print(note)


_MOST_LISTED = 5


def _listed(results: list[Result]) -> str:
    cells = [f"{result.cell} ({result.place.name})" for result in results[:_MOST_LISTED]]
    more = len(results) - _MOST_LISTED
    return "; ".join([*cells, *([f"and {counted(more, 'cell')} more"] if more > 0 else [])])
