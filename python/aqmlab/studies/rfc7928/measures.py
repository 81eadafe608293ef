"""What RFC 7928, section 2, has measured, read off a run: delay and its variation, loss, goodput, completion times.

All is of the direction of the data. The queueing delay is the time that the link takes to send what waits: what a
packet that arrives now waits in a single queue, and the mean over what waits where flows have queues of their own.
Of links in series it is the sum, each link's queue taken at the same moment; a packet counts at each queue that it
comes to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from aqmlab.results.result import Result
from aqmlab.spec.units import bits_per_second, seconds, size_in_bytes
from aqmlab.studies.kit.claims import Measure

_Floats = NDArray[np.float64]

DATA = 1
"""Clients are on side 0: what they download comes in direction 1."""


def delays_ms(result: Result) -> pl.DataFrame:
    """Return the queueing delay over time: ``time_s`` and ``delay_ms``."""
    links = range(1, 1 + len(result.cell.resolved.get("chain", [0])))
    each = pl.concat([link_delays_ms(result, link) for link in links])
    return each.group_by("time_s").agg(pl.col("delay_ms").sum()).sort("time_s")


def link_delays_ms(result: Result, number: int) -> pl.DataFrame:
    """Return the queueing delay at one of the links in series, counted from 1."""
    resolved = result.cell.resolved
    chain = resolved.get("chain")
    queue = result.queue.filter(pl.col("direction") == DATA)
    if chain:
        queue = queue.filter(pl.col("link") == number)
    overhead = size_in_bytes(resolved["link"]["overhead"])
    bits = queue.select(8 * (pl.col("bytes") + overhead * pl.col("packets"))).to_series().to_numpy()
    now = queue["time_s"].to_numpy()
    waits = _time_to_send(chain[number - 1] if chain else resolved["link"], now, bits)
    return pl.DataFrame({"time_s": now, "delay_ms": 1e3 * waits})


def _time_to_send(link: Mapping[str, Any], now: _Floats, bits: _Floats) -> _Floats:
    """Return how many seconds a link takes for so many bits from each time on, at the rates that it has then."""
    changes = link.get("rate_changes", ())
    rates = np.array([bits_per_second(each["rate"]) for each in (link, *changes)])
    starts = np.array([0.0, *(seconds(change["at"]) for change in changes)])
    times = np.append(starts, np.max([now.max(), starts[-1]]) + bits.max() / rates[-1])
    sent = np.append(0.0, np.cumsum(rates * np.diff(times)))
    done: _Floats = np.interp(np.interp(now, times, sent) + bits, sent, times)
    return done - now


@cache
def _delays(result: Result) -> tuple[float, float, float, float]:
    """Return mean, 95th and 99th percentile, and jitter."""
    delays = delays_ms(result)["delay_ms"].to_numpy()
    p95, p99 = np.percentile(delays, (95, 99))
    return float(delays.mean()), float(p95), float(p99), float(np.abs(np.diff(delays)).mean())


def delay_ms(result: Result) -> float:
    """Return the mean queueing delay."""
    return _delays(result)[0]


def delay_p95_ms(result: Result) -> float:
    """Return the queueing delay's 95th percentile."""
    return _delays(result)[1]


def delay_p99_ms(result: Result) -> float:
    """Return the queueing delay's 99th percentile."""
    return _delays(result)[2]


def jitter_ms(result: Result) -> float:
    """Return by how much the queueing delay of two packets 10 ms apart differs in the mean (RFC 3393)."""
    return _delays(result)[3]


def at_link(number: int, measure: Callable[[_Floats], np.floating[Any]]) -> Measure:
    """Return a measure of the queueing delays at one of the links in series."""
    return lambda result: float(measure(link_delays_ms(result, number)["delay_ms"].to_numpy()))


@cache
def _shares(result: Result) -> tuple[float, float]:
    """Return the shares dropped and marked of what arrived in the measured window, in percent."""
    # The summary's counters of a link are of the whole run: they would have the slow starts of the warm-up in them.
    arrived, drops, marks = (
        result.link.filter(pl.col("direction") == DATA).select("arrived", "drops", "marks").sum().row(0)
    )
    return 100 * drops / arrived, 100 * marks / arrived


def loss_percent(result: Result) -> float:
    """Return the packets lost at the queue, of those that arrived."""
    return _shares(result)[0]


def mark_percent(result: Result) -> float:
    """Return the packets marked, of those that arrived."""
    return _shares(result)[1]


def goodput_mbps(result: Result) -> float:
    """Return the data delivered in order, of all sources together."""
    return float(sum(source["goodput_mbps"] for source in result.summary["sources"]))


def of_source(name: str, measure: str) -> Measure:
    """Return a measure of one source: ``goodput_mbps``, one of its response times or one of its datagrams'.

    It is not a number where nothing was completed.
    """

    def read(result: Result) -> float:
        (source,) = (each for each in result.summary["sources"] if each["name"] == name)
        value = {**source, **source["response_time_ms"], **(source["datagrams"] or {})}.get(measure)
        return math.nan if value is None else float(value)

    return read


def handshake_loss_percent(result: Result) -> float:
    """Return the share of exchanges that had to send a SYN or a SYN/ACK again."""
    lost = result.exchanges["syn_retransmits"].to_numpy() > 0
    return 100 * float(lost.mean()) if len(lost) else math.nan


def slices(result: Result, seconds_each: float = 1.0) -> tuple[_Floats, _Floats]:
    """Return mean queueing delay in ms and throughput in Mbit/s of each slice of the run.

    Throughput is what leaves the queue, in bytes of IP: what is lost is lost before, so that it is goodput with headers
    and with what was sent twice without need.
    """
    begin = seconds(result.cell.resolved["protocol"]["warmup"])
    # What is written at a time is of the period before it.
    number = ((pl.col("time_s") - begin - 1e-6) / seconds_each).floor().cast(pl.Int64)
    delays = delays_ms(result).group_by(slice=number).agg(pl.col("delay_ms").mean()).sort("slice")
    link = result.link.filter(pl.col("direction") == DATA)
    sent = link.group_by(slice=number).agg(pl.col("bytes").sum()).sort("slice")
    return delays["delay_ms"].to_numpy(), 8e-6 / seconds_each * sent["bytes"].to_numpy()
