"""Kwon and Fahmy's tables 3, 4 and 5, published beside ours, and one of ours of the simple web configuration."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from aqmlab.results.result import Result
from aqmlab.studies.kit.measures import goodput_mbps
from aqmlab.studies.kit.study import StudyResults, Table, Value
from aqmlab.studies.kwon2003 import claims, measures
from aqmlab.studies.kwon2003.published import METRICS, TABLE_5, published


def all_tables(results: StudyResults) -> list[Table]:
    """Return the paper's tables and ours of the simple web configuration."""
    return [
        _gfc2("table3", "Table 3: algorithms on GFC-2, means", "mean", _mean, results),
        _gfc2("table4", "Table 4: algorithms on GFC-2, standard deviations over the seeds", "std", _deviation, results),
        _weights(results),
        _web(results),
    ]


def _gfc2(
    name: str,
    title: str,
    statistic: str,
    ours: Callable[[Callable[[Result], float], Sequence[Result]], float | None],
    results: StudyResults,
) -> Table:
    rows: list[list[Value]] = []
    for algorithm in claims.ALGORITHMS:
        some = results[claims.gfc2(algorithm)]
        rows.append([algorithm, "published", *published(statistic)[algorithm].values()])
        rows.append([algorithm, "ours", *(ours(measure, some) for _, measure in METRICS.values())])
    return Table(
        name=name,
        title=title,
        columns=("algorithm", "by", *(heading for heading, _ in METRICS.values())),
        rows=rows,
        about="The published response times reach 1,178 s in experiments of 900 s; how they were measured is not said."
        " Ours are of the pages that were complete at the end.",
    )


_WEB: dict[str, Callable[[Result], float]] = {
    **{heading: measure for name, (heading, measure) in METRICS.items() if not name.startswith(measures.FTP)},
    "queueing delay, s": measures.mean_delay_s,
}


def _web(results: StudyResults) -> Table:
    return Table(
        name="web",
        title="The simple web configuration",
        columns=("algorithm", *_WEB),
        rows=[
            [algorithm, *(_mean(measure, results[claims.web(algorithm)]) for measure in _WEB.values())]
            for algorithm in claims.ALGORITHMS
        ],
        about="Means over the seeds, ours: the paper draws this configuration and prints no table of it. LDC has the"
        " target of table 2, 4 s.",
    )


_FTP: dict[str, Callable[[Result], float]] = {
    "throughput, Mbit/s": goodput_mbps,
    "queueing delay, s": measures.mean_delay_s,
    "drops, %": measures.link_drop_percent,
}


def _weights(results: StudyResults) -> Table:
    def row(setting: str, weights: str) -> list[Value]:
        some = results[claims.ftp(setting)]
        printed = TABLE_5.get(setting, {})
        theirs = (printed.get("throughput_mbps"), printed.get("delay_s"))
        return [weights, *theirs, *(_mean(measure, some) for measure in _FTP.values())]

    return Table(
        name="table5",
        title="Table 5: LDC's weights of delay and load in the simple FTP configuration",
        columns=("weights", "published throughput", "published delay", *_FTP),
        rows=[
            *(row(setting, weights) for setting, weights in claims.WEIGHTS.items()),
            *(row(setting, f"3/4, 1/4 with {setting}") for setting in claims.OTHER_SETTINGS),
        ],
        about="Two of the published rows are in our copy. The last rows have another exponent n or interval tau:"
        " section 5.3 tells of such results and shows none. The delay is what the queue's bytes take on the link.",
    )


def _mean(measure: Callable[[Result], float], some: Sequence[Result]) -> float:
    return statistics.fmean(map(measure, some))


def _deviation(measure: Callable[[Result], float], some: Sequence[Result]) -> float | None:
    return statistics.stdev(map(measure, some)) if len(some) > 1 else None
