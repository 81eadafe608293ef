"""``aqmlab diff``: differences between cells, stores or results numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab.cli import selection
from aqmlab.cli.app import App
from aqmlab.cli.options import Json, Out
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table
from aqmlab.ui.counts import pluralize

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
    result = differences_of(*sides)
    notes = [note for invalid_results in invalid for note in invalid_note(invalid_results)]
    write_table(result.measures, table)
    if as_json:
        only = [[result.location.name for result in side] for side in result.only]
        rows = {"values": result.values.to_dicts(), "measures": result.measures.to_dicts()}
        print_json({**rows, "pairs": result.pairs, "only_a": only[0], "only_b": only[1], "notes": notes})
    else:
        _print(result, notes)


def _print(result: Diff, notes: list[str]) -> None:
    import polars as pl

    from aqmlab.store import table as tables
    from aqmlab.ui import console

    if not result.values.is_empty():
        console.show(tables.frame(result.values))
    if not result.measures.is_empty():
        rounded = pl.selectors.float().round_sig_figs(4)
        console.show(tables.frame(result.measures.with_columns(rounded)))
    if result.is_empty:
        print(
            f"Nothing differs in {pluralize(result.pairs, 'pair')} of cells: neither a value of the spec nor a measure."
        )
    elif result.pairs and result.measures.is_empty():
        print(f"No measure differs in {pluralize(result.pairs, 'pair')} of cells.")
    for side, only in zip("AB", result.only, strict=True):
        if only:
            print(f"Only in {side}: {_join_cells(only)}")
    for note in notes:
        print(note)


_MAX_LISTED = 5


def _join_cells(results: list[Result]) -> str:
    cells = [f"{result.cell} ({result.location.name})" for result in results[:_MAX_LISTED]]
    rest = len(results) - _MAX_LISTED
    return "; ".join([*cells, *([f"and {pluralize(rest, 'cell')} more"] if rest > 0 else [])])
