"""The tables of the study: harm and shares in every queue, and the numbers of all runs with two kinds of flows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from aqmlab.store.result import Result
from aqmlab.studies.kit.findings import HALF_WIDTH, Measure, by_seed, mean_and_half
from aqmlab.studies.kit.study import StudyResults, Table, Value
from aqmlab.studies.l4s import measures
from aqmlab.studies.l4s.matrix import (
    ALIKE,
    BASE,
    BESIDE_PRAGUE,
    CLASSIC,
    CUBIC,
    PRAGUE,
    QUEUES,
    SLOW,
    Case,
    Point,
    Queue,
    Traffic,
    alone,
    cases,
    pair,
)

Harm = Callable[[str, Result, Result], float]
"""The harm to the flow of a control, from its solo and its shared run."""

_HARMS: Sequence[Harm] = (measures.harm_to_goodput, measures.harm_to_delay, measures.harm_to_loss)


def tables(results: StudyResults) -> Sequence[Table]:
    """Return the tables; the last has a row for each run of two kinds that the length has."""
    return [_harm(results), _shares(results), _harms(results), _runs(results)]


def interval(results: StudyResults, case: Case, measure: Measure) -> tuple[float, float]:
    """Return the mean of a measure of a case over the seeds, and half the width of its interval."""
    return mean_and_half([measure(result) for result in results[case.name]])


def _harm_by(
    results: StudyResults, harm: Harm, harmed: str, traffic: Traffic, place: tuple[Queue, Point]
) -> list[Value]:
    """Return the mean and half the interval of the harm that traffic does to the flow of a control."""
    queue, point = place
    runs = [Case(traffic=it, queue=queue, point=point).name for it in (alone(harmed), traffic)]
    return [*mean_and_half([harm(harmed, solo, shared) for solo, shared in by_seed(results, *runs)])]


def _harm(results: StudyResults) -> Table:
    columns = (
        (measures.harm_to_goodput, CUBIC, pair(PRAGUE, CUBIC), "goodput of CUBIC, by Prague"),
        (measures.harm_to_goodput, CUBIC, pair(CUBIC, CUBIC), "goodput of CUBIC, by CUBIC"),
        (measures.harm_to_delay, CUBIC, pair(PRAGUE, CUBIC), "delay of CUBIC, by Prague"),
        (measures.harm_to_delay, CUBIC, pair(CUBIC, CUBIC), "delay of CUBIC, by CUBIC"),
        (measures.harm_to_goodput, PRAGUE, pair(PRAGUE, CUBIC), "goodput of Prague, by CUBIC"),
        (measures.harm_to_delay, PRAGUE, pair(PRAGUE, CUBIC), "delay of Prague, by CUBIC"),
    )
    return Table(
        name="harm",
        title="Harm between Prague and CUBIC",
        columns=("queue", *(text for *_, heading in columns for text in (heading, "±"))),
        rows=[
            [
                queue.name,
                *(
                    number
                    for harm, harmed, traffic, _ in columns
                    for number in _harm_by(results, harm, harmed, traffic, (queue, BASE))
                ),
            ]
            for queue in QUEUES
        ],
        about=f"Parts of the solo performance at {BASE.name}: 0 is no harm, 1 the largest. {HALF_WIDTH}",
    )


def _shares(results: StudyResults) -> Table:
    points = (BASE, SLOW)
    headings = (
        text for point in points for control in CLASSIC for text in (f"{point.rate_mbps} Mbit/s, {control}", "±")
    )
    return Table(
        name="shares",
        title="Share of Prague beside a Classic flow, %",
        columns=("queue", *headings),
        rows=[
            [
                queue.name,
                *(
                    number
                    for point in points
                    for traffic in BESIDE_PRAGUE
                    for number in interval(
                        results, Case(traffic=traffic, queue=queue, point=point), measures.share_percent
                    )
                ),
            ]
            for queue in QUEUES
        ],
        about=f"Round trips of 10 ms, buffers of 2 BDP. {HALF_WIDTH}",
    )


def _harms(results: StudyResults) -> Table:
    pairs = [
        *((control, traffic) for traffic in BESIDE_PRAGUE for control in reversed(traffic.controls)),
        *((traffic.controls[0], traffic) for traffic in ALIKE),
    ]
    rows: list[list[Value]] = [
        [
            queue.name,
            f"{point.rate_mbps} Mbit/s",
            harmed,
            next((it for it in traffic.controls if it != harmed), harmed),
            *(number for harm in _HARMS for number in _harm_by(results, harm, harmed, traffic, (queue, point))),
        ]
        for point in (BASE, SLOW)
        for queue in QUEUES
        for harmed, traffic in pairs
    ]
    return Table(
        name="harms",
        title="Harm of each to each",
        columns=("queue", "rate", "harmed", "by", "goodput", "±", "delay", "±", "loss", "±"),
        rows=rows,
        about=f"Round trips of 10 ms, buffers of 2 BDP. Empty: only the solo run has losses. {HALF_WIDTH}",
    )


def _runs(results: StudyResults) -> Table:
    return Table(
        name="runs",
        title="Two kinds of flows: all runs",
        columns=(
            "traffic",
            "queue",
            "point",
            "share of a flow of the first, %",
            "±",
            *(f"{what} of the {kind}" for kind in ("first", "second") for what in ("mean delay, ms,", "loss, %,")),
            "utilisation, %",
        ),
        rows=[
            [
                case.traffic.name,
                case.queue.name,
                case.point.name,
                *interval(results, case, measures.first_share_percent),
                *(
                    interval(results, case, measure)[0]
                    for number in (0, 1)
                    for measure in (measures.delay_of(number, "mean"), measures.loss_of(number))
                ),
                interval(results, case, measures.utilisation_percent)[0],
            ]
            for case in _of_two_kinds(results)
        ],
        about=f"Delays are those of the data in the queue. {HALF_WIDTH}",
    )


def _of_two_kinds(results: StudyResults) -> Iterable[Case]:
    return (case for case in cases("full") if len(case.traffic.controls) == 2 and case.name in results)
