"""A study's tables and claims for a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from aqmlab.show import console
from aqmlab.studies.kit import study
from aqmlab.studies.kit.claims import Claim, Finding, Outcome, tally

_OUTCOME_STYLES = {Outcome.HOLDS: "green", Outcome.FAILS: "red", Outcome.UNDECIDED: "yellow"}


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


def claims(findings: Sequence[tuple[Claim, Finding]]) -> Table:
    """List claims with what became of them and the numbers that decided."""
    title = tally([finding.outcome for _, finding in findings])
    table = console.sheet(title=title, title_justify="left")
    for heading in ("claim", "place", "what is claimed", "outcome", "what decided"):
        table.add_column(heading)
    for claim, finding in findings:
        outcome = Text(str(finding.outcome), style=_OUTCOME_STYLES[finding.outcome])
        table.add_row(*map(Text, (claim.id, claim.place, claim.gist)), outcome, Text(finding.text()))
    return table
