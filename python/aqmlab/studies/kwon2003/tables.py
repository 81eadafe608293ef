"""Kwon and Fahmy's tables 3, 4 and 5, published beside ours, and one of ours of the simple web configuration."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from aqmlab.result import Result
from aqmlab.studies.kwon2003 import claims, measures
from aqmlab.studies.kwon2003.published import METRICS, published
from aqmlab.study import StudyResults, Table, Value

_SPREADS: dict[str, Callable[[Sequence[float]], float | None]] = {
    "mean": statistics.fmean,
    "std": lambda values: statistics.stdev(values) if len(values) > 1 else None,
}


def simple_tables(results: StudyResults) -> list[Table]:
    """Return table 5 and ours of the simple web configuration."""
    return [_weights(results), _web(results)]


def gfc2_tables(results: StudyResults) -> list[Table]:
    """Return tables 3 and 4."""
    return [
        _gfc2("table3", "Table 3: algorithms on GFC-2, means", "mean", results),
        _gfc2("table4", "Table 4: algorithms on GFC-2, standard deviations over the seeds", "std", results),
    ]


def _gfc2(name: str, title: str, statistic: str, results: StudyResults) -> Table:
    rows: list[list[Value]] = []
    for algorithm in claims.ALGORITHMS:
        rows.append([algorithm, "published", *published(statistic)[algorithm].values()])
        rows.append([algorithm, "ours", *_ours(results[claims.gfc2(algorithm)], statistic)])
    return Table(
        name=name,
        title=title,
        columns=("algorithm", "by", *(heading for heading, _ in METRICS.values())),
        rows=rows,
        about="The published response times reach 1,178 s in experiments of 900 s; how they were measured is not said."
        " Ours are of the pages that were complete at the end.",
    )


def _web(results: StudyResults) -> Table:
    chosen = {name: metric for name, metric in METRICS.items() if not name.startswith("ftp")}
    return Table(
        name="web",
        title="The simple web configuration",
        columns=("algorithm", *(heading for heading, _ in chosen.values())),
        rows=[
            [algorithm, *_ours(results[claims.web(algorithm)], "mean", [measure for _, measure in chosen.values()])]
            for algorithm in claims.ALGORITHMS
        ],
        about="Means over the seeds. The paper draws this configuration but prints no table of it.",
    )


_FTP: dict[str, Callable[[Result], float]] = {
    "throughput, Mbit/s": measures.goodput_mbps,
    "queueing delay, s": measures.mean_delay_s,
    "drops, %": measures.link_drop_percent,
}


def _weights(results: StudyResults) -> Table:
    def row(setting: str, weights: str) -> list[Value]:
        some = results[claims.ftp(setting)]
        ours = [statistics.fmean(measure(each) for each in some) for measure in _FTP.values()]
        return [weights, None, None, *ours]

    return Table(
        name="table5",
        title="Table 5: LDC's weights of delay and load in the simple FTP configuration",
        columns=("weights", "published throughput", "published delay", *_FTP),
        rows=[
            *(row(setting, weights) for setting, weights in claims.WEIGHTS.items()),
            *(row(setting, f"3/4, 1/4 with {setting}") for setting in claims.OTHER_SETTINGS),
        ],
        about="The published values are not in our copy. The last rows have another exponent n or interval tau: section"
        " 5.3 tells of such results without showing them. The delay is what the queue's bytes take on the link.",
    )


def _ours(
    some: Sequence[Result], statistic: str, metrics: Sequence[Callable[[Result], float]] = ()
) -> list[float | None]:
    spread = _SPREADS[statistic]
    return [
        spread([measure(each) for each in some]) for measure in metrics or [measure for _, measure in METRICS.values()]
    ]
