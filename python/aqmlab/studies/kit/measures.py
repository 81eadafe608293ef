"""Measures of one result that studies share: loss, throughput, delay and response times.

Measures without ``data`` in their name cover both directions of the link, as the summary does. The data flow to side 0,
whose users send the requests. All measures are of the measurement window.
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
"""Direction of the data: responses to side 0 flow in direction 1."""


def loss_percent(result: Result) -> float:
    """Return the share of arriving packets that were lost, of both directions, in percent."""
    return float(result.summary["loss_percent"])


def throughput_mbps(result: Result) -> float:
    """Return the throughput of both directions, in Mbit/s."""
    return float(result.summary["throughput_mbps"])


def of_data(measure: str) -> Measure:
    """Return a measure of the data's direction by its key in the summary: ``throughput_mbps``, ``loss_percent``."""
    return lambda result: float(result.summary["directions"][DATA][measure])


def completed_requests(result: Result) -> float:
    """Return the number of requests completed."""
    return float(result.summary["completed_requests"])


def share_within(time_ms: float) -> Measure:
    """Return the share of requests completed within a time."""
    return lambda result: stats.shares_within(result.response_time_bins, [time_ms])[0]


def sources(result: Result, kind: str = "") -> list[Mapping[str, Any]]:
    """Return the summaries of sources whose names begin with ``kind``."""
    return [source for source in result.summary["sources"] if source["name"].startswith(kind)]


def goodput_mbps(result: Result, kind: str = "") -> float:
    """Return the goodput of the sources whose names begin with ``kind``, in Mbit/s."""
    return float(sum(source["goodput_mbps"] for source in sources(result, kind)))


def of_source(name: str, measure: str) -> Measure:
    """Return a measure of one source: ``goodput_mbps``, one of its response times or one of its datagrams'.

    It is NaN where nothing was completed.
    """

    def read(result: Result) -> float:
        (source,) = (each for each in result.summary["sources"] if each["name"] == name)
        value = {**source, **source["response_time_ms"], **(source["datagrams"] or {})}.get(measure)
        return math.nan if value is None else float(value)

    return read


@cache
def _shares(result: Result) -> tuple[float, float]:
    """Return the shares of arriving packets that were dropped and marked in the measurement window, in percent."""
    # The summary's counters of a link cover the whole run, with the slow starts of the warm-up.
    arrived, drops, marks = (
        result.link.filter(pl.col("direction") == DATA).select("arrived", "drops", "marks").sum().row(0)
    )
    return 100 * drops / arrived, 100 * marks / arrived


def data_loss_percent(result: Result) -> float:
    """Return the share of the data's packets dropped at the queue, in percent."""
    return _shares(result)[0]


def data_mark_percent(result: Result) -> float:
    """Return the share of the data's packets marked, in percent."""
    return _shares(result)[1]


def delays_ms(result: Result) -> pl.DataFrame:
    """Return the queueing delay of the data over time, ``time_s`` and ``delay_ms``: of all links in series together.

    It is the time that a link needs to send its queue.
    """
    return timeseries.delays_ms(result, DATA)


def link_delays_ms(result: Result, number: int) -> pl.DataFrame:
    """Return the queueing delay of the data at one of the links in series, counted from 1."""
    return timeseries.link_delays_ms(result, number, DATA)
