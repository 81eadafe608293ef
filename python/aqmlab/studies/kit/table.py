"""Tables and claims of a study for the console."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl
from rich.table import Table
from rich.text import Text

from aqmlab.studies.kit import study
from aqmlab.studies.kit.decisions import Decision
from aqmlab.studies.kit.findings import Outcome, tally
from aqmlab.ui import console

_OUTCOME_STYLES = {
    Outcome.HOLDS: "green",
    Outcome.FAILS: "red",
    Outcome.UNDECIDED: "yellow",
    Outcome.INCONSISTENT: "magenta",
}


def numbers_frame(study_tables: Iterable[study.Table]) -> pl.DataFrame:
    """Return the numbers of a study's tables, one a row.

    Returns
    -------
    polars.DataFrame
        The name of the ``table``; the number of the ``row``, from 1, and ``what``, its text; the heading of the
        ``column``; the ``value``.
    """
    schema = {"table": pl.String, "row": pl.Int64, "what": pl.String, "column": pl.String, "value": pl.Float64}
    rows = [
        {
            "table": each.name,
            "row": number,
            "what": ", ".join(value for value in row if isinstance(value, str)),
            "column": heading,
            "value": value,
        }
        for each in study_tables
        for number, row in enumerate(each.rows, start=1)
        for heading, value in zip(each.columns, row, strict=True)
        if isinstance(value, (int, float))
    ]
    return pl.DataFrame(rows, schema=schema)


def numbers(study_table: study.Table) -> Table:
    """Return a study's table for the console."""
    title = Text(study_table.title)
    table = console.sheet(title=title, title_justify="left")
    for n, heading in enumerate(study_table.columns):
        words = any(isinstance(row[n], str) for row in study_table.rows)
        table.add_column(Text(heading), justify="left" if words else "right", no_wrap=n == 0)
    for row in study_table.rows:
        table.add_row(*(Text(study.text(value)) for value in row))
    return table


def claims(decisions: Sequence[Decision]) -> Table:
    """List claims with their outcomes at both readings, and the numbers that decided the second."""
    first = tally([decision.registered.outcome for decision in decisions if decision.registered])
    second = tally([decision.conclusion.outcome for decision in decisions])
    title = Text(f"First reading: {first}\nSecond reading: {second}")
    table = console.sheet(title=title, title_justify="left")
    for heading in ("claim", "place", "claim in short", "first", "second", "deciding numbers"):
        table.add_column(heading)
    for it in decisions:
        outcomes = (it.registered.outcome if it.registered else None, it.conclusion.outcome)
        table.add_row(*map(Text, (it.id, it.place, it.gist)), *map(_colored, outcomes), Text(it.conclusion.text()))
    return table


def _colored(outcome: Outcome | None) -> Text:
    return Text() if outcome is None else Text(str(outcome), style=_OUTCOME_STYLES[outcome])
