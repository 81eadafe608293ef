"""An evaluation as one self-contained HTML file without scripts, to attach to a draft."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aqmlab.evaluation import table
from aqmlab.evaluation.comparison import Comparison, Harm, Verdict
from aqmlab.evaluation.suite import TESTED, Evaluation, Outcome
from aqmlab.reports import reproduce, templating
from aqmlab.ui import output_files
from aqmlab.ui.extras import require

_SHOWN_MARGINS = 3.0
"""The differences that an interval's figure shows, in margins on either side of 0."""

_EDGE = 0.03
"""The share of a figure's width that is free at each end, for the mark of a mean there."""

_BADGES = {Verdict.EXCEEDS: "bad", Verdict.MEETS: "good"}
"""The styles of verdicts."""


@dataclass(frozen=True)
class Bar:
    """An interval of a difference as shares of a figure's width; the figure ends at three margins."""

    low: float
    mean: float
    high: float
    zero: float
    margin: float

    @classmethod
    def of(cls, comparison: Comparison) -> Bar | None:
        """Return the bar of a comparison; ``None`` without a difference."""
        harm = comparison.from_cubic
        if harm is None:
            return None
        margin = comparison.measure.margin
        return cls(*(_share(value / margin) for value in (harm.low, harm.mean, harm.high, 0.0, margin)))


def _share(margins: float) -> float:
    shown = min(_SHOWN_MARGINS, max(-_SHOWN_MARGINS, margins))
    return 0.5 + (0.5 - _EDGE) * shown / _SHOWN_MARGINS


def file_name(control: str) -> str:
    """Return the name of a control's file.

    Examples
    --------
    >>> file_name("my_control:Gentle")
    'rfc9743-my_control-Gentle.html'
    """
    return f"rfc9743-{re.sub(r'[^A-Za-z0-9_.]+', '-', control)}.html"


def write(evaluation: Evaluation, outcomes: Sequence[Outcome], directory: Path) -> Path:
    """Write the file of an evaluation into a directory and return it."""
    require("report")
    file = directory / file_name(evaluation.control)
    with output_files.opened(file) as output:
        output.write(html(evaluation, outcomes).encode())
    return file


def html(evaluation: Evaluation, outcomes: Sequence[Outcome]) -> str:
    """Return the page; the same results give the same page."""
    places = dict.fromkeys(place for place, _ in evaluation.cells)
    first = {name: next(place for place in places if place[0] == name) for name, _ in places}
    return templating.render(
        "evaluation.html",
        evaluation=evaluation,
        outcomes=outcomes,
        command=command(evaluation),
        summary=table.summary(outcomes),
        table=table,
        bar=Bar.of,
        badge=lambda verdict: _BADGES.get(verdict, ""),
        specs={
            name: (place[1], reproduce.toml(evaluation.cells[place, TESTED][0].resolved))
            for name, place in first.items()
        },
        harm_text=_harm_text,
        margins={
            comparison.request.measure: comparison.measure for outcome in outcomes for comparison in outcome.comparisons
        },
    )


def _harm_text(harm: Harm | None, comparison: Comparison) -> str:
    return table.harm_text(harm, comparison.measure)


def command(evaluation: Evaluation) -> str:
    """Return the command that repeats an evaluation."""
    seeds = evaluation.seeds
    sections = (
        []
        if evaluation.clauses == evaluation.document.clauses
        else [f"--clause={clause.section}" for clause in evaluation.clauses]
    )
    changes = [f"--set={change}" for change in evaluation.changes]
    repetitions = f"{seeds[0]}-{seeds[-1]}" if seeds[0] != 1 else str(len(seeds))
    control = ["--control", evaluation.control, *changes, *sections, "--seeds", repetitions]
    return shlex.join(["aqmlab", "study", "rfc9743", *control])
