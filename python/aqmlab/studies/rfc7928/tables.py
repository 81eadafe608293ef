"""RFC 7928's measures as tables, one for each section."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aqmlab.spec.schemes import Scheme
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.findings import Measure
from aqmlab.studies.kit.study import StudyResults, Table, Value
from aqmlab.studies.rfc7928 import losses, measures
from aqmlab.studies.rfc7928.claims import reviewed_claims
from aqmlab.studies.rfc7928.runs import (
    ALONE,
    BURSTS,
    FAIRNESS,
    LEVELS,
    MIXES,
    OTHER_RTTS_MS,
    RTT_MS,
    SENDERS,
    START_UP,
    TWO_WAY,
    VARYING,
    Scenario,
)
from aqmlab.studies.rfc7928.schemes import can_mark, variants
from aqmlab.studies.rfc7928.topologies import AGGRESSIVE, BACKGROUND, CAPACITY, pairs
from aqmlab.studies.rfc7928.trade_off import trade_off


@dataclass(frozen=True, kw_only=True)
class _Column:
    heading: str
    measure: Measure
    source: str | None = None
    """The source that it measures; the cell is empty if a run lacks it."""


_QUEUE = (
    _Column(heading="goodput, Mbit/s", measure=kit.goodput_mbps),
    _Column(heading="queueing delay, ms", measure=measures.delay_ms),
    _Column(heading="p95, ms", measure=measures.delay_p95_ms),
    _Column(heading="p99, ms", measure=measures.delay_p99_ms),
    _Column(heading="jitter, ms", measure=measures.jitter_ms),
    _Column(heading="lost, %", measure=kit.data_loss_percent),
)
_MARKED = _Column(heading="marked, %", measure=kit.data_mark_percent)


def _of(source: str, heading: str, measure: str) -> _Column:
    return _Column(heading=heading, measure=kit.of_source(source, measure), source=source)


_LONG = _of("long", "long flows, Mbit/s", "goodput_mbps")
_CUBIC = _of("cubic", "CUBIC, Mbit/s", "goodput_mbps")
_LEDBAT = _of("background", "LEDBAT, Mbit/s", "goodput_mbps")
_START_UP = (
    *(_of("first", f"start-up, {name} ms", name) for name in ("mean", "p50", "p95", "p99")),
    _Column(heading="handshakes that lost a packet, %", measure=measures.handshake_loss_percent),
)
_LOSSES = (
    _Column(heading="lost, %", measure=kit.data_loss_percent),
    _Column(heading="between losses, mean ms", measure=losses.mean_gap_ms),
    _Column(heading="their deviation, of the mean", measure=losses.variation),
    _Column(heading="losses in bursts, %", measure=losses.burst_percent),
    _Column(heading="synchronisation, %", measure=losses.synchronisation_percent),
)
_PAGES = (_of("short", "pages, mean ms", "mean"), _of("short", "pages, p95 ms", "p95"))
_VOICE = (
    _of("voice", "voice delay, mean ms", "delay_ms_mean"),
    _of("voice", "voice delay, p99 ms", "delay_ms_p99"),
    _of("voice", "voice lost, %", "loss_percent"),
)
_IN_SERIES = (
    *(_of(name, f"{name}, Mbit/s", "goodput_mbps") for name in ("through", "first", "second")),
    _Column(heading="delay at the first link, ms", measure=measures.at_link(2, np.mean)),
    _Column(heading="delay at the second, ms", measure=measures.at_link(1, np.mean)),
    *_QUEUE[1:],
)
"""Without goodput, which is no link's if all sources are added."""


def tables(results: StudyResults, schemes: Sequence[Scheme]) -> list[Table]:
    """Return the tables of all sections."""
    marked = [(scenario, f"{scenario.name}-ecn") for scenario in LEVELS]
    marking = [scheme for scheme in schemes if can_mark(scheme)]
    levels = _rows(results, [(each, each.name) for each in LEVELS], schemes, (*_QUEUE, _MARKED))
    return [
        *trade_off(results, schemes),
        *_expectations(results, schemes),
        _table(
            "senders",
            "Kinds of senders (section 5)",
            results,
            (*SENDERS, ALONE, AGGRESSIVE),
            schemes,
            (*_QUEUE, _LONG, _CUBIC, *_PAGES),
        ),
        _table(
            "background",
            "Less-than-best-effort senders (section 5.4)",
            results,
            BACKGROUND,
            schemes,
            (*_QUEUE, _LONG, _LEDBAT),
        ),
        _fairness(results, schemes),
        _table("bursts", "Absorption of bursts (section 7)", results, BURSTS, schemes, (*_QUEUE, *_PAGES)),
        Table(
            name="levels",
            title="Levels of congestion (sections 8.2.2 to 8.2.4)",
            columns=_headings((*_QUEUE, _MARKED)),
            rows=[*levels, *_rows(results, marked, marking, (*_QUEUE, _MARKED), suffix=", ECN")],
            about="At these numbers of flows drop-tail loses about 0.1, 0.5 and 1 %, as measured here.",
        ),
        Table(
            name="losses",
            title="Individual losses (sections 2.3 and 2.4)",
            columns=_headings(_LOSSES),
            rows=_rows(results, [(each, each.name) for each in LEVELS], schemes, _LOSSES),
            about=f"The losses of a burst are at most {losses.BURST_MS:g} ms apart. The deviation of intervals is 0"
            " for regular losses and 1 for random ones. Synchronisation is the share of the flows that a loss event"
            " strikes; it strikes at least one.",
        ),
        _table(
            "start-up",
            "Start-up time (section 2.2)",
            results,
            (START_UP,),
            schemes,
            (*_START_UP, *_QUEUE[1:]),
        ),
        _table("varying", "Varying load (section 8.2.5)", results, (VARYING,), schemes, _QUEUE),
        _table("capacity", "Varying capacity (section 8.2.6)", results, CAPACITY, schemes, _QUEUE),
        _tuning(results, schemes),
        _table(
            "mixes",
            "Mixes and two-way traffic (section 9)",
            results,
            (*MIXES, TWO_WAY),
            schemes,
            (*_QUEUE, *_PAGES, *_VOICE),
        ),
        _series(results, schemes),
    ]


def _expectations(results: StudyResults, schemes: Sequence[Scheme]) -> list[Table]:
    """Return a table of the claims, discipline by discipline; empty without claims."""
    rows: list[list[Value]] = []
    for claim in reviewed_claims(schemes):
        findings = [part(results) for part in claim.parts]
        rows += [[claim.id, str(found.outcome), found.text()] for found in findings]
    title = "The claims, discipline by discipline"
    columns = ("claim", "outcome", "deciding numbers")
    return [Table(name="expectations", title=title, columns=columns, rows=rows)] if rows else []


def _table(
    name: str,
    title: str,
    results: StudyResults,
    scenarios: Sequence[Scenario],
    schemes: Sequence[Scheme],
    columns: Sequence[_Column],
) -> Table:
    rows = _rows(results, [(each, each.name) for each in scenarios], schemes, columns)
    return Table(name=name, title=title, columns=_headings(columns), rows=rows)


def _headings(columns: Sequence[_Column]) -> tuple[str, ...]:
    return ("scenario", "scheme", *(column.heading for column in columns))


def _rows(
    results: StudyResults,
    scenarios: Sequence[tuple[Scenario, str]],
    schemes: Sequence[Scheme],
    columns: Sequence[_Column],
    *,
    suffix: str = "",
) -> list[list[Value]]:
    """Return a row for each scenario, with the name of its runs, and each scheme."""
    return [
        [
            f"{scenario.section} {scenario.title}{suffix}",
            scheme.label,
            *(_cell(results, f"{name}/{scheme.label}", column) for column in columns),
        ]
        for scenario, name in scenarios
        for scheme in schemes
    ]


def _cell(results: StudyResults, run: str, column: _Column) -> Value:
    some = results[run]
    names = [source["name"] for source in some[0].summary["sources"]]
    if column.source is not None and column.source not in names:
        return None
    return _mean([column.measure(result) for result in some])


def _mean(values: Sequence[float]) -> Value:
    mean = statistics.fmean(values)
    return mean if math.isfinite(mean) else None


def ratio(results: StudyResults, run: str) -> float:
    """Return the mean goodput of the class with the other round trip, divided by that of the reference's."""
    other, reference = (kit.of_source(name, "goodput_mbps") for name in ("other", "reference"))
    return statistics.fmean(map(other, results[run])) / statistics.fmean(map(reference, results[run]))


def _fairness(results: StudyResults, schemes: Sequence[Scheme]) -> Table:
    return Table(
        name="fairness",
        title="Fairness between round trips (section 6)",
        columns=("round trip, ms", *(scheme.label for scheme in schemes)),
        rows=[
            [rtt_ms, *(ratio(results, f"{scenario.name}/{scheme.label}") for scheme in schemes)]
            for rtt_ms, scenario in zip(OTHER_RTTS_MS, FAIRNESS, strict=True)
        ],
        about=f"The goodput of a NewReno flow with this round trip, divided by that of the one with {RTT_MS} ms.",
    )


def _series(results: StudyResults, schemes: Sequence[Scheme]) -> Table:
    rows: list[list[Value]] = [
        [pair.first.label, pair.second.label, *(_cell(results, pair.run, column) for column in _IN_SERIES)]
        for pair in pairs(schemes)
    ]
    return Table(
        name="series",
        title="Two disciplines in series (section 10)",
        columns=("at the first link", "at the second", *(column.heading for column in _IN_SERIES)),
        rows=rows,
        about="One NewReno flow uses both links, and two more use each. Queueing delay is the sum of both links'"
        " delays at the same moment. Losses are relative to the packets that enter either queue.",
    )


def _tuning(results: StudyResults, schemes: Sequence[Scheme]) -> Table:
    medium = LEVELS[1]
    rows: list[list[Value]] = []
    for scheme in schemes:
        for variant in variants(scheme, medium.room):
            run = f"tuned-{variant.factor:g}/{scheme.label}"
            cells = (_cell(results, run, column) for column in _QUEUE)
            rows.append([scheme.label, f"{variant.parameter} {variant.value}", *cells])
    return Table(
        name="tuning",
        title="Sensitivity to parameters (section 8.3)",
        columns=("scheme", "parameter", *(column.heading for column in _QUEUE)),
        rows=rows,
        about=f"The parameter that sets the length of the queue is multiplied by 1/4, 1/2, 2 and 4, under"
        f" {medium.title}.",
    )
