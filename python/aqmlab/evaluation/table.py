"""Outcomes of an evaluation as a table, a frame and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import polars as pl
from rich.table import Table

from aqmlab.evaluation.comparison import Comparison, Harm, Value, Verdict, mean
from aqmlab.evaluation.document import Measure
from aqmlab.evaluation.suite import Outcome
from aqmlab.ui import console

_COMPARISON = (
    "scenario",
    "point",
    "measure",
    "source",
    "unit",
    "better",
    "margin",
    "control",
    "cubic",
    "reno",
    "reason",
)
"""The columns of a comparison in a frame, besides its differences and its verdict."""


def table(outcomes: Iterable[Outcome]) -> Table:
    """Return a table with a row for each clause and the comparison that decides its verdict."""
    sheet = console.sheet()
    for title in ("clause", "level", "compared", "decided by", "control", "CUBIC", "Reno", "worse than CUBIC"):
        is_number = title in ("compared", "control", "CUBIC", "Reno", "worse than CUBIC")
        sheet.add_column(title, justify="right" if is_number else "left")
    sheet.add_column("verdict")
    for outcome in outcomes:
        clause, comparison = outcome.clause, deciding(outcome)
        shown = ["-"] * 5 if comparison is None else [place_of(comparison), *numbers(comparison)]
        count = str(len(outcome.comparisons)) if outcome.comparisons else "-"
        verdict = str(outcome.verdict)
        if not outcome.comparisons:
            verdict = f"{verdict}: {clause.uncovered}"
        sheet.add_row(f"{clause.section} {clause.title}", clause.level, count, *shown, verdict)
    return sheet


def deciding(outcome: Outcome) -> Comparison | None:
    """Return the comparison that decides a clause: of those with its verdict, the one nearest to an excess.

    ``None`` if the clause has none.
    """
    decided = [comparison for comparison in outcome.comparisons if comparison.verdict is outcome.verdict]
    return max(decided, key=_excess, default=None)


def _excess(comparison: Comparison) -> float:
    """Return the difference from CUBIC in margins; a comparison without a value comes first."""
    harm = comparison.from_cubic
    return float("inf") if harm is None else harm.mean / comparison.measure.margin


def place_of(comparison: Comparison) -> str:
    """Return the scenario, the point and the measure of a comparison as text."""
    request = comparison.request
    point = f" ({request.point})" if request.point else ""
    return f"{request.scenario}{point}: {measure_of(comparison)}"


def measure_of(comparison: Comparison) -> str:
    """Return the measure of a comparison, with its source and unit, as text."""
    source = f" of {comparison.request.source}" if comparison.request.source else ""
    return f"{comparison.measure.text}{source}{unit_of(comparison.measure)}"


def unit_of(measure: Measure) -> str:
    """Return the unit of a measure as the end of a label."""
    return "" if measure.unit.startswith("of ") else f", {measure.unit}"


def numbers(comparison: Comparison) -> list[str]:
    """Return the means of the control, CUBIC and Reno, and the difference from CUBIC with its interval, as text."""
    measure = comparison.measure
    means = [value_text(mean(values), measure) for values in (comparison.values, comparison.cubic, comparison.reno)]
    return [*means, harm_text(comparison.from_cubic, measure)]


def value_text(value: Value, measure: Measure) -> str:
    """Return a value with the decimals of its measure; a dash for none."""
    return console.number(value, measure.digits)


def harm_text(harm: Harm | None, measure: Measure) -> str:
    """Return a difference with its interval; a dash for none."""
    if harm is None:
        return "-"
    # A difference of 0 has no sign.
    mean_text, low, high = (
        f"{value:+.{measure.digits}f}" if value else "0" for value in (harm.mean, harm.low, harm.high)
    )
    return mean_text if harm.low == harm.high else f"{mean_text} [{low}, {high}]"


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the number of clauses of each verdict in words."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    return "Clauses: " + ", ".join(f"{verdict} {counts[verdict]}" for verdict in Verdict)


def frame(outcomes: Iterable[Outcome]) -> pl.DataFrame:
    """Return the comparisons as a frame, with a row for each; a clause without any has one row."""
    rows = []
    for outcome in outcomes:
        record = outcome.record()
        clause = {name: record[name] for name in ("section", "title", "level", "verdict", "uncovered")}
        for comparison in record["comparisons"] or [{}]:
            harms = {
                f"{name}_{part}": (comparison.get(name) or {}).get(part)
                for name in ("worse_than_cubic", "worse_than_reno")
                for part in ("mean", "low", "high")
            }
            values = {name: comparison.get(name) for name in _COMPARISON}
            rows.append({**clause, **values, **harms, "comparison_verdict": comparison.get("verdict")})
    return pl.DataFrame(rows, infer_schema_length=None)
