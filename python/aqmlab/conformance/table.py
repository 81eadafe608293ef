"""Outcomes of conformance as a table, a frame and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from rich.table import Table

from aqmlab.conformance.case import Outcome, Verdict
from aqmlab.ui import canvas, console

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def table(outcomes: Iterable[Outcome]) -> Table:
    """Return a table with a row for each case."""
    sheet = console.sheet()
    for title in ("case", "clause", "expected", "seen", "verdict"):
        sheet.add_column(title, no_wrap=title == "case", justify="right" if title == "seen" else "left")
    for outcome in outcomes:
        case = outcome.case
        sheet.add_row(case.id, case.clause, str(case.expected), outcome.text, verdict_text(outcome))
    return sheet


def verdict_text(outcome: Outcome) -> str:
    """Return the verdict, with its reason if the case is not covered."""
    return f"{outcome.verdict}: {outcome.reason}" if outcome.reason else str(outcome.verdict)


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the number of cases of each verdict in words."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    noun = "case" if len(outcomes) == 1 else "cases"
    return f"{len(outcomes)} {noun}: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)


def failures(outcomes: Iterable[Outcome]) -> list[str]:
    """Return a line for each failed case: the demand, the number, and its bounds with the reason of the tolerance."""
    return [
        f"{outcome.case.id}: {outcome.case.demand} ({outcome.case.level}). {outcome.case.quantity}:"
        f" {outcome.text}, expected {outcome.case.expected} ({outcome.case.expected.reason})"
        for outcome in outcomes
        if outcome.verdict is Verdict.FAILS
    ]


def frame(outcomes: Iterable[Outcome]) -> pl.DataFrame:
    """Return the outcomes as a frame, with a row for each case."""
    rows = []
    for outcome in outcomes:
        record = outcome.record()
        expected = record.pop("expected")
        rows.append({**record, **{f"expected_{name}": value for name, value in expected.items()}})
    numbers = {"seen": pl.Float64, "expected_low": pl.Float64, "expected_high": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None)


def draw(outcomes: Iterable[Outcome], directory: Path) -> list[Path]:
    """Draw the window of the flow of each case, and return the files."""
    files = []
    for outcome in outcomes:
        file = directory / f"{outcome.case.id}.svg"
        canvas.write(file, partial(_draw, outcome=outcome))
        files.append(file)
    return files


def _draw(figure: Figure, outcome: Outcome) -> None:
    from aqmlab import plot

    axis = figure.subplots()
    plot.flows(outcome.trace.flows, axis)
    seen = f"{outcome.text}, expected {outcome.case.expected}"
    axis.set_title(f"{outcome.case.id}: {outcome.verdict}\n{outcome.case.quantity}: {seen}", fontsize=9)
