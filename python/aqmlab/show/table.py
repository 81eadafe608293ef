"""Tables for people: rich on a terminal, plain text in a pipe."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from rich import box
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from aqmlab.design import Design
from aqmlab.disciplines.catalogue import Discipline
from aqmlab.explain import PARTS
from aqmlab.explain.timeline import Line
from aqmlab.show.layout import Fitted
from aqmlab.studies.kit import study
from aqmlab.studies.kit.claims import Claim, Finding, Outcome, tally

_WIDE = 400

_IN_A_PIPE = 100
"""How wide a table is at most where no terminal says it."""


def calibration(report: Mapping[str, Any]) -> Table:
    """Show the users a calibration gives, and the published number."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("load of 100 Mbit/s")
    table.add_column("users on each side", justify="right")
    for load, users in report["users"].items():
        table.add_row(f"{load} %", f"{users:,}")
    if report["published"] is not None:
        table.add_row("100 %, published", f"{report['published']:,} (ours {report['difference_percent']:+.1f} %)")
    return table


def cells(rows: Iterable[Mapping[str, Any]]) -> Table:
    """List the cells of a store, one a row."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column("cell", no_wrap=True)
    table.add_column("scheme", overflow="fold")
    for title in ("load %", "users", "rtt", "seed", "MB", "created"):
        table.add_column(title, no_wrap=True, justify="left" if title in ("rtt", "created") else "right")
    for row in rows:
        table.add_row(
            row["cell"],
            Text(row["label"]),
            "" if row["load_percent"] is None else f"{row['load_percent']:.3g}",
            f"{row['users_per_side']:,}",
            row["rtt"],
            f"{row['seed']}",
            f"{row['bytes'] / 1e6:.1f}",
            f"{row['created'].astimezone():%Y-%m-%d %H:%M}",
        )
    return table


def disciplines(entries: Iterable[Discipline]) -> Table:
    """List the queue disciplines, one a row."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for title in ("name", "family", "decides at", "what it does"):
        table.add_column(title)
    for entry in entries:
        table.add_row(*map(Text, (entry.name, entry.family, entry.decides_at, entry.summary)))
    return table


def parameters(entry: Discipline) -> Table:
    """List the parameters of a discipline, one a row."""
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", title=Text(f"{entry.name}: {entry.summary}")
    )
    for title in ("parameter", "unit", "default", "meaning", "source"):
        table.add_column(title, no_wrap=title in ("parameter", "default"))
    for parameter in entry.parameters:
        row = (parameter.name, parameter.unit, parameter.default, parameter.meaning, parameter.source)
        # As text: a bracket in a meaning is no markup.
        table.add_row(*map(Text, row))
    return table


def design(made: Design) -> Table:
    """List what a rule gives: the parameters, what they follow from, and the margins of their loop."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for title in ("name", "value", "unit", "meaning", "rule", "source"):
        table.add_column(title, no_wrap=title == "value", justify="right" if title == "value" else "left")
    for group in (made.parameters, made.follows_from):
        for value in group:
            table.add_row(value.name, f"{value.value:.6g}", value.unit, value.meaning, value.rule, value.source)
        table.add_section()
    if (margins := made.margins) is not None:
        loop = "the linear loop with TCP"
        rows = (
            ("phase margin", f"{margins.phase_margin_deg:.1f}", "degrees", "phase lag it bears before it oscillates"),
            ("gain margin", f"{margins.gain_margin_db:.1f}", "dB", "gain it bears before it oscillates"),
            ("delay margin", f"{1000 * margins.delay_margin_s:.0f}", "ms", "delay it bears before it oscillates"),
        )
        for row in rows:
            table.add_row(*row, loop, made.parameters[0].source)
    return table


def explanation(bands: Sequence[Mapping[str, Any]]) -> Table:
    """Show what the response time is made of: milliseconds and shares, of all requests and around each quantile.

    Parts that no time went to are left out.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("part")
    for band in bands:
        name = "mean" if band["band"] == "mean" else f"around {band['band']}"
        table.add_column(f"{name}\nms", justify="right", no_wrap=True)
        table.add_column("\n%", justify="right", no_wrap=True)
    for part, name in PARTS.items():
        if not any(band[part] for band in bands):
            continue
        cells = ((_number(band[part], 1), _number(100 * band[part] / band["response_time_ms"], 1)) for band in bands)
        table.add_row(name, *(text for pair in cells for text in pair))
    table.add_section()
    table.add_row("response time", *(text for band in bands for text in (_number(band["response_time_ms"], 1), "")))
    table.add_row("requests", *(text for band in bands for text in (_number(band["requests"], 0), "")))
    return table


def requests(rows: Iterable[Mapping[str, Any]]) -> Table:
    """List requests, one a row, with what their time went to, in milliseconds: the parts that any went to."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", collapse_padding=True)
    rows = list(rows)
    parts = {part: name for part, name in PARTS.items() if any(row[part] for row in rows)}
    known = ("request", "start\ns", "response\ntime ms", "response\nbytes", "losses", "marks")
    for title in (*known, *(name.replace(" ", "\n", 1) for name in parts.values())):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            _number(row["request"], 0),
            _number(row["start_ns"] / 1e9, 3),
            _number(row["response_time_ns"] / 1e6, 1),
            *(_number(row[name], 0) for name in ("response_bytes", "losses", "marks")),
            *(_number(row[part] / 1e6, 1) for part in parts),
        )
    return table


def timeline(lines: Iterable[Line]) -> Table:
    """Show what happened during a request."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for title in ("at ms", "until ms"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("who", no_wrap=True)
    table.add_column("what")
    for line in lines:
        until = "" if line.until_ms == line.at_ms else _number(line.until_ms, 1)
        table.add_row(_number(line.at_ms, 1), until, line.who, Text(line.what))
    return table


def numbers(study_table: study.Table) -> Table:
    """Show a table of a study."""
    title = Text(study_table.title)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for n, heading in enumerate(study_table.columns):
        words = any(isinstance(row[n], str) for row in study_table.rows)
        table.add_column(Text(heading), justify="left" if words else "right", no_wrap=n == 0)
    for row in study_table.rows:
        table.add_row(*(Text(study.text(value)) for value in row))
    return table


_OUTCOME_STYLES = {Outcome.HOLDS: "green", Outcome.FAILS: "red", Outcome.UNDECIDED: "yellow"}


def claims(findings: Sequence[tuple[Claim, Finding]]) -> Table:
    """List claims with what became of them and the numbers that decided."""
    title = tally([finding.outcome for _, finding in findings])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for heading in ("claim", "place", "what is claimed", "outcome", "what decided"):
        table.add_column(heading)
    for claim, finding in findings:
        outcome = Text(str(finding.outcome), style=_OUTCOME_STYLES[finding.outcome])
        table.add_row(*map(Text, (claim.id, claim.place, claim.gist)), outcome, Text(finding.text()))
    return table


def show(table: RenderableType) -> None:
    """Print a table: for a person at a terminal, or as plain text for whatever reads a pipe."""
    console = _console(width=None)
    if console.is_terminal:
        console.print(_fitted(table))
    else:
        print(plain(table, width=_columns()))


def show_page(entry: Discipline) -> None:
    """Print a discipline's page and its parameters: set for a person at a terminal, as it is written in a pipe."""
    console = Console()
    if console.is_terminal:
        console.print(Markdown(entry.page), "")
    else:
        print(entry.page)
    show(parameters(entry))


def plain(table: RenderableType, *, width: int = _WIDE) -> str:
    """Render a table as text without colours, as wide as it needs to be and no wider than ``width``."""
    console = _console(width=width)
    with console.capture() as capture:
        console.print(_fitted(table))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _fitted(table: RenderableType) -> RenderableType:
    return Fitted(table) if isinstance(table, Table) else table


def _console(width: int | None) -> Console:
    """Return a console that takes a bracket in a text for a bracket, and shows nothing by itself in a notebook."""
    color_system: Literal["auto"] | None = "auto" if width is None else None
    return Console(width=width, color_system=color_system, markup=False, emoji=False, force_jupyter=False)


def _columns() -> int:
    """Return how wide a table is in a pipe: as the environment says, or so that a page or a mail has room for it."""
    return shutil.get_terminal_size((_IN_A_PIPE, 0)).columns


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
