"""The reference page of conformance: the outcome of every case for every built-in congestion control."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable

from aqmlab._core import results_number
from aqmlab.conformance import Outcome, Verdict, conform
from aqmlab.conformance.cases import STANDARDS
from aqmlab.conformance.cases.standard import Standard
from markdown import table
from reference.template import template


def conformance() -> str:
    """Write the page; this runs the cases."""
    controls = list(dict.fromkeys(control for standard in STANDARDS.values() for control in standard.controls))
    with tempfile.TemporaryDirectory() as store:
        outcomes = {control: conform(control, out=store, workers=1, progress=False) for control in controls}
    found = {(outcome.case.id, control): outcome for control, some in outcomes.items() for outcome in some}
    every = list(found.values())
    return template("conformance").format(
        results=results_number(),
        cases=len({id_ for id_, _ in found}),
        verdicts=", ".join(f"{sum(one.verdict is verdict for one in every)} {verdict}" for verdict in Verdict),
        failures=table(("case", "control", "demand", "number"), _failures(found)),
        sections="\n\n".join(_section(standard, found) for standard in STANDARDS.values()),
    )


def _failures(found: dict[tuple[str, str], Outcome]) -> Iterable[tuple[str, ...]]:
    for (id_, control), outcome in found.items():
        if outcome.verdict is Verdict.FAILS:
            yield f"`{id_}`", f"`{control}`", outcome.case.demand, f"{outcome.text}, expected {outcome.case.expected}"


def _section(standard: Standard, found: dict[tuple[str, str], Outcome]) -> str:
    rows = [
        (
            f"`{case.id}`",
            _clause(case.clause, standard),
            case.demand,
            str(case.expected),
            *(_cell(found[case.id, control]) for control in standard.controls),
        )
        for case in standard.cases
    ]
    head = ("case", "clause", "demand", "expected", *(f"`{control}`" for control in standard.controls))
    return f"## `{standard.name}`\n\n{standard.documents}.\n\n{table(head, rows)}".rstrip()


def _clause(clause: str, standard: Standard) -> str:
    """Return a clause without the document, if that is the only one of the standard."""
    return clause.removeprefix(f"{standard.documents.partition(' (')[0]}, ")


def _cell(outcome: Outcome) -> str:
    if outcome.verdict is Verdict.NOT_COVERED:
        return "not covered"
    return outcome.text if outcome.verdict is Verdict.MEETS else f"**fails**, {outcome.text}"
