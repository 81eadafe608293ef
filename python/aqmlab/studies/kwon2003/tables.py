"""Kwon and Fahmy's tables 3, 4 and 5, published beside ours, and one of ours of the simple web configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from aqmlab.store.result import Result
from aqmlab.studies.kit.study import StudyResults, Table, Value
from aqmlab.studies.kwon2003 import measures, names, runs
from aqmlab.studies.kwon2003.published import METRICS, TABLE_5, published


def all_tables(results: StudyResults) -> list[Table]:
    """Return the paper's tables and ours of the simple web configuration."""
    return [
        _gfc2("table3", "Table 3: algorithms on GFC-2, means", "mean", _mean, results),
        _gfc2("table4", "Table 4: algorithms on GFC-2, standard deviations over the seeds", "std", deviation, results),
        _sessions(results),
        _udp(results),
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
    for algorithm in names.ALGORITHMS:
        some = results[names.gfc2(algorithm)]
        rows.append([algorithm, "published", *published(statistic)[algorithm].values()])
        rows.append([algorithm, "ours", *(ours(measure, some) for _, measure in METRICS.values())])
    return Table(
        name=name,
        title=title,
        columns=("algorithm", "by", *(heading for heading, _ in METRICS.values())),
        rows=rows,
        about="The published response times reach 1,178 s in experiments of 900 s. Ours are those of the sessions of"
        f" {measures.SESSION_PAGES} pages that were complete at the end. Throughput is goodput as ns-2 counts it.",
    )


_PAGES = (1, 2, 3, measures.SESSION_PAGES, 10)


def _sessions(results: StudyResults) -> Table:
    response = "http_response_mean_s"
    return Table(
        name="sessions",
        title="Response times on GFC-2 by pages of a session",
        columns=("algorithm", "published, s", "1 page, s", *(f"{pages} pages, s" for pages in _PAGES[1:])),
        rows=[
            [
                algorithm,
                published("mean")[algorithm][response],
                *(_mean(partial(measures.session_s, pages=pages), results[names.gfc2(algorithm)]) for pages in _PAGES),
            ]
            for algorithm in names.ALGORITHMS
        ],
        about="A response time begins with the first request of a session and ends when its last page has arrived. A"
        f" client requests a page every {runs.PAGE_EVERY_S} s in the mean, even if the one before it has not arrived."
        f" On a network without queues, a session of n pages therefore takes {runs.PAGE_EVERY_S} (n - 1)"
        " s. The paper does not print the number of pages.",
    )


_UDP = {name: METRICS[name] for name in ("udp_delay_mean_s", "udp_delay_max_s", "udp_drop_percent")}


def _udp(results: StudyResults) -> Table:
    def row(algorithm: str, where: str, some: Sequence[Result]) -> list[Value]:
        return [algorithm, where, *(_mean(measure, some) for _, measure in _UDP.values())]

    rows: list[list[Value]] = []
    for algorithm in names.ALGORITHMS:
        rows.append([algorithm, "published", *(published("mean")[algorithm][name] for name in _UDP)])
        rows.append(row(algorithm, "with the pages", results[names.gfc2(algorithm)]))
        rows.append(row(algorithm, "against the pages", results[names.udp_against(algorithm)]))
    return Table(
        name="udp",
        title="UDP on GFC-2 in either direction",
        columns=("algorithm", "UDP", *(heading for heading, _ in _UDP.values())),
        rows=rows,
        about="In the paper's text, UDP flows from R3 to R4, against the pages. In that direction it meets only"
        " requests and acknowledgements, and loses nothing. The published losses are those of a saturated direction.",
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
            [algorithm, *(_mean(measure, results[names.web(algorithm)]) for measure in _WEB.values())]
            for algorithm in names.ALGORITHMS
        ],
        about="All numbers are our means over the seeds: the paper draws this configuration and prints no table of it."
        " LDC has the target of table 2, 4 s.",
    )


_FTP: dict[str, Callable[[Result], float]] = {
    "data, Mbit/s": measures.delivered_mbps,
    "on the link, Mbit/s": measures.link_mbps,
    "packet delay, s": measures.packet_delay_s,
    "queueing delay, s": measures.mean_delay_s,
    "drops, %": measures.link_drop_percent,
}


def _weights(results: StudyResults) -> Table:
    def row(setting: str, weights: str) -> list[Value]:
        some = results[names.ftp(setting)]
        printed = TABLE_5.get(setting, {})
        theirs = map(printed.get, ("throughput_mbps", "delay_s", "drop_percent"))
        return [weights, *theirs, *(_mean(measure, some) for measure in _FTP.values())]

    return Table(
        name="table5",
        title="Table 5: LDC's weights of delay and load in the simple FTP configuration",
        columns=("weights", "published Mbit/s", "delay, s", "drops, %", *(f"ours: {heading}" for heading in _FTP)),
        rows=[
            *(row(setting, weights) for setting, weights in names.WEIGHTS.items()),
            *(row(setting, f"3/4, 1/4 with {setting}") for setting in names.OTHER_SETTINGS),
        ],
        about="Two of the published rows are in our copy. The last rows have another exponent n or interval tau;"
        " section 5.3 mentions such results and shows none. Data are counted in whole packets, as in ns-2. The link"
        " carries retransmissions too. The packet delay is the time from sender to receiver. The queueing delay is"
        " the time to send the queue, averaged over time.",
    )


def _mean(measure: Callable[[Result], float], some: Sequence[Result]) -> float:
    return float(np.mean([measure(each) for each in some]))


def deviation(measure: Callable[[Result], float], some: Sequence[Result]) -> float | None:
    """Return the standard deviation over some results: not a number where one is none, and none of a single one."""
    return float(np.std([measure(each) for each in some], ddof=1)) if len(some) > 1 else None
