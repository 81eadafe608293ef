"""What studies read off one result: loss, throughput, delay and response times, each said once.

*Each way* is of both directions of the link, as the summary has it. *Of the data* is of the direction in which data
flow: those who ask are on side 0. All is of the measured window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import polars as pl

from aqmlab import stats
from aqmlab.results import timeseries
from aqmlab.store.result import Result
from aqmlab.studies.kit.findings import Measure

DATA = 1
"""The direction of the data: what those on side 0 ask for comes in direction 1."""


def loss_percent(result: Result) -> float:
    """Return the packets lost, of those that arrived each way."""
    return float(result.summary["loss_percent"])


def throughput_mbps(result: Result) -> float:
    """Return the Mbit/s each way."""
    return float(result.summary["throughput_mbps"])


def of_data(measure: str) -> Measure:
    """Return a measure of the direction of the data, as the summary has it: ``throughput_mbps``, ``loss_percent``."""
    return lambda result: float(result.summary["directions"][DATA][measure])


def completed_requests(result: Result) -> float:
    """Return the number of requests completed."""
    return float(result.summary["completed_requests"])


def share_within(time_ms: float) -> Measure:
    """Return the share of requests answered within a time."""
    return lambda result: stats.shares_within(result.response_time_bins, [time_ms])[0]


def sources(result: Result, kind: str = "") -> list[Mapping[str, Any]]:
    """Return what the summary tells of the sources whose names begin so; of all without one."""
    return [source for source in result.summary["sources"] if source["name"].startswith(kind)]


def goodput_mbps(result: Result, kind: str = "") -> float:
    """Return the data delivered in order to the receivers of the sources whose names begin so, of all without one."""
    return float(sum(source["goodput_mbps"] for source in sources(result, kind)))


def of_source(name: str, measure: str) -> Measure:
    """Return a measure of one source: ``goodput_mbps``, one of its response times or one of its datagrams'.

    It is not a number where nothing was completed.
    """

    def read(result: Result) -> float:
        (source,) = (each for each in result.summary["sources"] if each["name"] == name)
        value = {**source, **source["response_time_ms"], **(source["datagrams"] or {})}.get(measure)
        return math.nan if value is None else float(value)

    return read


@cache
def _shares(result: Result) -> tuple[float, float]:
    """Return the shares dropped and marked of what arrived in the measured window, in percent."""
    # The summary's counters of a link are of the whole run: they would have the slow starts of the warm-up in them.
    arrived, drops, marks = (
        result.link.filter(pl.col("direction") == DATA).select("arrived", "drops", "marks").sum().row(0)
    )
    return 100 * drops / arrived, 100 * marks / arrived


def data_loss_percent(result: Result) -> float:
    """Return the packets of the data lost at the queue, of those that arrived."""
    return _shares(result)[0]


def data_mark_percent(result: Result) -> float:
    """Return the packets of the data marked, of those that arrived."""
    return _shares(result)[1]


def delays_ms(result: Result) -> pl.DataFrame:
    """Return the queueing delay of the data over time, ``time_s`` and ``delay_ms``: of all links in series together.

    It is the time that a link takes to send what waits.
    """
    return timeseries.delays_ms(result, DATA)


def link_delays_ms(result: Result, number: int) -> pl.DataFrame:
    """Return the queueing delay of the data at one of the links in series, counted from 1."""
    return timeseries.link_delays_ms(result, number, DATA)
