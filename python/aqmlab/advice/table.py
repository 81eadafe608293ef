"""Advice as tables and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from aqmlab.advice.candidates import CANDIDATES, PLAIN
from aqmlab.campaigns.search.objectives import NUMBERS
from aqmlab.show import console

if TYPE_CHECKING:
    from aqmlab.advice.advice import Advice
    from aqmlab.advice.ranking import Standing


def asked(advice: Advice) -> str:
    """Say what was asked, and what is advised."""
    alike = [each.candidate for each in advice.run if each.is_alike and each.candidate != advice.advised]
    others = f"; not told from it on this link: {', '.join(alike)}" if alike else ""
    return f"{advice.link}\n\nAdvised: {advice.scheme}{others}\n"


def commands(advice: Advice) -> str:
    """Say what to type on a router, and what is otherwise there."""
    return "\n".join((*advice.commands.lines, "", *advice.commands.notes))


def standings(advice: Advice) -> Table:
    """Show a row for each candidate, the map's first on top: on links like it, and on this link."""
    what = f"{advice.minimised}, {NUMBERS[advice.minimised][1]}"
    plain = CANDIDATES[PLAIN](advice.link)
    title = f"Minimised: {what}. Changes from {plain}, with 95 % intervals; * not told from the best"
    sheet = console.sheet(collapse_padding=True, title=title, title_justify="left")
    sheet.add_column("scheme", overflow="fold")
    for heading in (f"{advice.minimised}, links like it", "transfers", f"{advice.minimised}, this link"):
        sheet.add_column(heading, justify="right")
    sheet.add_column(what, justify="right")
    sheet.add_column("transfers", justify="right")
    runs = {each.candidate: each for each in advice.run}
    for each in advice.map:
        here = runs.get(each.candidate)
        sheet.add_row(
            Text(CANDIDATES[each.candidate](advice.link)),
            *_changes(each),
            *(("", "", "") if here is None else (_changes(here)[0], f"{here.mean:,.4g}", _changes(here)[1])),
        )
    return sheet


def _changes(each: Standing) -> tuple[str, str]:
    change = "" if each.candidate == PLAIN else str(each.change)
    bulk = "" if each.bulk is None or each.candidate == PLAIN else str(each.bulk)
    return f"{change}{'*' if each.is_alike else ' '}", bulk
