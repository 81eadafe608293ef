"""The tables of the study: page load times and response times by load, and the other numbers of congested links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.quantities import AREA
from aqmlab.studies.kit.findings import HALF_WIDTH, Measure, mean_and_half, means
from aqmlab.studies.kit.measures import DATA, of_data
from aqmlab.studies.kit.study import StudyResults, Table
from aqmlab.studies.le2025.claims import MBPS, PAGE
from aqmlab.studies.le2025.schemes import CONGESTED, StudyLink, on


def _of_pages(name: str) -> Measure:
    return lambda result: float(result.summary["pages"][name])


_OF_PAGES: Sequence[tuple[str, Measure]] = (
    ("page load p95, s", _of_pages("load_s_p95")),
    ("median first render, s", _of_pages("first_render_s_p50")),
    ("pages", _of_pages("pages")),
    ("incomplete pages", _of_pages("incomplete_pages")),
)
"""Further numbers of the pages, with their headings."""


def _of_link(link: StudyLink) -> Sequence[tuple[str, Measure]]:
    """Return the numbers of a link: of both directions, or of the data's where users are on one side."""

    def read(name: str) -> Measure:
        return of_data(name) if link.sides == 1 else lambda result: float(result.summary[name])

    def delay(statistic: str) -> Measure:
        def measure(result: Result) -> float:
            summary = result.summary if link.sides == 2 else result.summary["directions"][DATA]
            return float(summary["queue_delay_ms"][statistic])

        return measure

    return (
        (MBPS.what, read("throughput_mbps")),
        ("loss, %", read("loss_percent")),
        ("marked, %", read("mark_percent")),
        ("mean queueing delay, ms", delay("mean")),
        ("its p99, ms", delay("p99")),
    )


def tables(results: StudyResults, links: Iterable[StudyLink]) -> list[Table]:
    """Return the tables of these links; page load times and response times come first."""
    given = tuple(links)
    return [
        *(_by_load(results, link, "pages", "Median page load time", PAGE.measure, "s") for link in given),
        *(_by_load(results, link, "requests", "Requests answered", AREA.measure, "%", _AREA) for link in given),
        *(_numbers(results, link) for link in given),
    ]


_AREA = "The share of the requests answered within a time, averaged over times up to 2 s: the area under the curve."


def _by_load(
    results: StudyResults,
    link: StudyLink,
    name: str,
    title: str,
    measure: Measure,
    unit: str,
    about: str = "",
) -> Table:
    """Return a measure of every scheme on a link, by load."""
    return Table(
        name=f"{name}_{link.name}",
        title=f"{title} on the link of {link.name}",
        columns=("scheme", *(text for load in link.loads for text in (f"{load} %, {unit}", "±"))),
        rows=[
            [
                scheme.label,
                *(
                    number
                    for load in link.loads
                    for number in mean_and_half([measure(result) for result in results[scheme.at(load, link)]])
                ),
            ]
            for scheme in on(link)
        ],
        about=f"{about} {HALF_WIDTH}".strip(),
    )


def _numbers(results: StudyResults, link: StudyLink) -> Table:
    """Return the other numbers of every scheme on a congested link."""
    shown = (*_of_link(link), *_OF_PAGES)
    directions = "both directions" if link.sides == 2 else "the direction of the data"
    return Table(
        name=f"numbers_{link.name}",
        title=f"Link, queue and pages on the link of {link.name}",
        columns=("scheme", "load, %", *(text for heading, _ in shown for text in (heading, "±"))),
        rows=[
            [scheme.label, load, *means(results[scheme.at(load, link)], [measure for _, measure in shown])]
            for load in CONGESTED
            for scheme in on(link)
        ],
        about=f"Numbers of link and queue are those of {directions}. {HALF_WIDTH}",
    )
