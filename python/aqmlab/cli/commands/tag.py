"""``aqmlab tag``: tags and notes of cells and experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError
from aqmlab.cli import selection
from aqmlab.cli.app import App
from aqmlab.cli.cells import stored_cells
from aqmlab.cli.options import Json, Out
from aqmlab.cli.output import print_json
from aqmlab.cli.tables import TableFile, check_table, write_table

if TYPE_CHECKING:
    from aqmlab.store.annotations import Annotation

app = App()


@app.command()
def tag(
    cells: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CELL]...", help="Keys of cells; a unique prefix is enough. [default: all]", show_default=False
        ),
    ] = None,
    where: selection.Where = None,
    add: Annotated[list[str] | None, typer.Option(metavar="TAG", help="Add a tag. May be repeated.")] = None,
    remove: Annotated[list[str] | None, typer.Option(metavar="TAG", help="Remove a tag. May be repeated.")] = None,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Replace the note; an empty text removes it.")
    ] = None,
    experiment: Annotated[
        bool, typer.Option("--experiment", help="Use the experiments of the cells instead of the cells.")
    ] = False,
    out: Out = "results",
    table: TableFile = None,
    as_json: Json = False,
) -> None:
    """Tag cells, write notes to them, or list both.

    It lists the tags and notes if it changes none. Lists of cells and the console find cells by their tags.

    Example: aqmlab tag --where "scheme=pi" --add baseline --note "For section 4"
    """
    import polars as pl

    from aqmlab.store import table as tables
    from aqmlab.store.annotations import Annotation, Annotations
    from aqmlab.store.store import Store
    from aqmlab.ui import console

    check_table(table)
    is_change = bool(add or remove or note is not None)
    if is_change and not cells and not where:
        raise SpecError("tag: must have CELL or --where, got none")
    rows = selection.filter_cells(stored_cells(out), where or ())
    if cells:
        keys = [result.location.name for text in cells for result in selection.results(text, out)]
        rows = rows.filter(pl.col("cell").is_in(keys))
    store = Annotations(Store(out).out)
    found = dict(store.load())
    subject_column = "experiment" if experiment else "cell"
    for subject in rows[subject_column].unique(maintain_order=True) if is_change else ():
        try:
            found[subject] = _changed(found.get(subject, Annotation()), add or (), remove or (), note)
        except ValueError as error:
            raise SpecError(f"tag: {error}") from None
        store.save(subject, found[subject])
    annotations = [(row, found.get(row[subject_column], Annotation())) for row in rows.to_dicts()]
    records = [
        {"cell": row["cell"], "scheme": row["label"], "seed": row["seed"], "tags": list(own.tags), "note": own.note}
        for row, own in annotations
        if own != Annotation()
    ]
    shown = pl.DataFrame([{**record, "tags": " ".join(record["tags"])} for record in records])
    write_table(shown, table)
    if as_json:
        print_json(records)
    elif records:
        console.show(tables.frame(shown))
    else:
        print("no tags and no notes")


def _changed(before: Annotation, add: Iterable[str], remove: Iterable[str], note: str | None) -> Annotation:
    """Return an annotation with further tags, without others, and with another note if one is given.

    Raises
    ------
    ValueError
        When a tag to remove is missing, or a tag or the note is too long or has other characters.
    """
    from aqmlab.store.annotations import Annotation

    if missing := [word for word in remove if word not in before.tags]:
        raise ValueError(f"--remove: expected one of {', '.join(before.tags) or 'no tags'}, got {missing[0]}")
    tags = dict.fromkeys([*(word for word in before.tags if word not in set(remove)), *add])
    return Annotation(tuple(tags), before.note if note is None else note.strip())
