"""Benefits and costs of a discipline relative to drop-tail."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.spec.schemes import Scheme
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.claims.quantities import Column, change_percent
from aqmlab.studies.kit.findings import Finding
from aqmlab.studies.kit.study import StudyResults, Table, Value
from aqmlab.studies.rfc7928 import measures
from aqmlab.studies.rfc7928.schemes import REFERENCE

COMPARED = (
    ("medium", Column(what="queueing delay", measure=measures.delay_ms)),
    ("medium", Column(what="goodput", measure=kit.goodput_mbps)),
    ("mix-3", Column(what="voice, p99 of delay", measure=kit.of_source("voice", "delay_ms_p99"))),
    ("burst-2", Column(what="pages, mean time", measure=kit.of_source("short", "mean"))),
)
"""Scenarios with their measures."""


def trade_off(results: StudyResults, schemes: Sequence[Scheme]) -> list[Table]:
    """Return the table of changes from drop-tail by scheme; empty without another scheme."""
    others = [scheme.label for scheme in schemes if scheme.label != REFERENCE.label]
    headings = [heading for _, column in COMPARED for heading in (f"{column.what}, %", "±")]
    table = Table(
        name="trade-off",
        title="Benefits and costs of queue management",
        columns=("scheme", *headings),
        rows=[[label, *_changes(results, label)] for label in others],
        about="Changes are relative to drop-tail, paired by seed, with 95 % intervals. The traffic is long flows under"
        " medium congestion (section 8.2.3), a voice call with bulk transfers (9.1, case III), and pages with an"
        " initial window of 10 segments (7, case II).",
    )
    return [table] if others else []


def _changes(results: StudyResults, label: str) -> list[Value]:
    cells: list[Value] = []
    for scenario, column in COMPARED:
        change = change_percent(column, f"{scenario}/{label}", f"{scenario}/{REFERENCE.label}")
        found = Finding.of(column.what, change.each(results))
        cells += [found.estimate, found.high - found.estimate if found.pairs > 1 else None]
    return cells
