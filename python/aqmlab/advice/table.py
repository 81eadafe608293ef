"""Advice as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from aqmlab.advice.candidates import CANDIDATES, PLAIN
from aqmlab.advice.map import NEAR
from aqmlab.results.measured import NUMBERS
from aqmlab.show import console

if TYPE_CHECKING:
    from aqmlab.advice.advice import Advice
    from aqmlab.advice.ranking import Standing


def asked(advice: Advice) -> str:
    """Say what was asked, and what is advised."""
    alike = [each.candidate for each in advice.run if each.is_alike and each.candidate != advice.advised]
    others = f"; not told from it on this link: {', '.join(alike)}" if alike else ""
    return (
        f"{advice.link}\n\nAdvised: {advice.scheme}{others}\n"
        f"Minimised is {advice.minimised}; long transfers are shown beside. Changes are from a plain queue,"
        f" {CANDIDATES[PLAIN](advice.link)}, with 95 % intervals.\n"
    )


def commands(advice: Advice) -> str:
    """Say what to type on a router, and what is otherwise there."""
    return "\n".join((*advice.commands.lines, "", *advice.commands.notes))


def of_run(advice: Advice) -> Table:
    """Show what was run on this link, the best first."""
    title = f"On this link, under seeds {advice.seeds[0]} to {advice.seeds[-1]}. * not told from the best"
    return _sheet(advice, advice.run, title)


def of_map(advice: Advice) -> Table:
    """Show what the map knows of links like it, the best first."""
    return _sheet(advice, advice.map, f"On {NEAR} links of the map that are like it. * not told from the best")


def _sheet(advice: Advice, ranked: Sequence[Standing], title: str) -> Table:
    what = f"{advice.minimised}, {NUMBERS[advice.minimised].unit}"
    sheet = console.sheet(collapse_padding=True, title=title, title_justify="left")
    sheet.add_column("scheme", overflow="fold")
    sheet.add_column(what, justify="right")
    sheet.add_column(f"from {PLAIN}'s", justify="right", no_wrap=True)
    sheet.add_column("long transfers", justify="right", no_wrap=True)
    for each in ranked:
        is_plain = each.candidate == PLAIN
        sheet.add_row(
            Text(CANDIDATES[each.candidate](advice.link)),
            f"{each.mean:,.4g}{'*' if each.is_alike else ' '}",
            "" if is_plain else str(each.change),
            "" if is_plain or each.bulk is None else str(each.bulk),
        )
    return sheet
