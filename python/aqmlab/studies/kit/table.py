"""A study's tables and claims for a person."""

from __future__ import annotations

from collections.abc import Sequence

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


def numbers(study_table: study.Table) -> Table:
    """Show a table of a study."""
    title = Text(study_table.title)
    table = console.sheet(title=title, title_justify="left")
    for n, heading in enumerate(study_table.columns):
        words = any(isinstance(row[n], str) for row in study_table.rows)
        table.add_column(Text(heading), justify="left" if words else "right", no_wrap=n == 0)
    for row in study_table.rows:
        table.add_row(*(Text(study.text(value)) for value in row))
    return table


def claims(decisions: Sequence[Decision]) -> Table:
    """List claims with what became of them at both readings, and the numbers that decided the last one."""
    first = tally([decision.first[1].outcome for decision in decisions if decision.first])
    second = tally([decision.second[1].outcome for decision in decisions if decision.second])
    title = Text(f"First reading: {first}\nSecond reading: {second}")
    table = console.sheet(title=title, title_justify="left")
    for heading in ("claim", "place", "what is claimed", "first", "second", "what decided"):
        table.add_column(heading)
    for it in decisions:
        outcomes = [both[1].outcome if both else None for both in (it.first, it.second)]
        decided = it.second[1].text() if it.second else it.first[1].text() if it.first else ""
        table.add_row(*map(Text, (it.id, it.place, it.gist)), *map(_colored, outcomes), Text(decided))
    return table


def _colored(outcome: Outcome | None) -> Text:
    return Text() if outcome is None else Text(str(outcome), style=_OUTCOME_STYLES[outcome])
