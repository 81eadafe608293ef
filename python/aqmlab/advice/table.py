"""The ranking of candidates as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from aqmlab.advice.access_link import AccessLink
from aqmlab.advice.candidates import CANDIDATES, PLAIN
from aqmlab.advice.ranking import Ranking
from aqmlab.metrics.numbers import Number
from aqmlab.ui import console


def ranking_table(title: str, link: AccessLink, minimised: Number, ranked: Sequence[Ranking]) -> Table:
    """Return the ranking as a table, the best first, with the minimised measure and the effect on long transfers."""
    heading = f"{minimised.name}, {minimised.unit}"
    sheet = console.sheet(collapse_padding=True, title=title, title_justify="left")
    sheet.add_column("scheme", overflow="fold")
    sheet.add_column(heading, justify="right")
    sheet.add_column("from the best", justify="right", no_wrap=True)
    sheet.add_column(f"from {PLAIN}'s", justify="right", no_wrap=True)
    sheet.add_column("long transfers", justify="right", no_wrap=True)
    for ranking in ranked:
        is_plain = ranking.candidate == PLAIN
        sheet.add_row(
            Text(CANDIDATES[ranking.candidate](link)),
            f"{ranking.mean:,.4g}{'*' if ranking.is_indistinguishable else ' '}",
            "" if ranking.change_from_best is None else str(ranking.change_from_best),
            "" if is_plain else str(ranking.change),
            "" if is_plain or ranking.bulk is None else str(ranking.bulk),
        )
    return sheet
