"""What a rule gives as a table."""

from __future__ import annotations

from rich.table import Table

from aqmlab.design.result import Design
from aqmlab.ui import console


def design(made: Design) -> Table:
    """List what a rule gives: the parameters, what they follow from, and the margins of their loop."""
    table = console.sheet()
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
