"""Measures of RFC 7928, section 2: delay and its variation, loss, goodput, completion times.

All measures are of the direction of the data. The queueing delay is the time that the link needs to send its queue: the
delay of an arriving packet in a single queue, and the mean over the queued packets where flows have their own queues.
For links in series it is the sum over the links at the same moment; a packet counts at each queue that it enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.results import timeseries
from aqmlab.store.result import Result
from aqmlab.studies.kit.findings import Measure
from aqmlab.studies.kit.measures import DATA, delays_ms, link_delays_ms

_Floats = NDArray[np.float64]


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
    """Return the mean difference of the queueing delays of two packets 10 ms apart (RFC 3393)."""
    return _delays(result)[3]


def at_link(number: int, measure: Callable[[_Floats], np.floating[Any]]) -> Measure:
    """Return a measure of the queueing delays at one of the links in series."""
    return lambda result: float(measure(link_delays_ms(result, number)["delay_ms"].to_numpy()))


def handshake_loss_percent(result: Result) -> float:
    """Return the share of exchanges that retransmitted a SYN or a SYN/ACK."""
    lost = result.exchanges["syn_retransmits"].to_numpy() > 0
    return 100 * float(lost.mean()) if len(lost) else math.nan


def windows(result: Result, seconds_each: float = 1.0) -> tuple[_Floats, _Floats]:
    """Return mean queueing delay in ms and throughput in Mbit/s of each slice of the run.

    Throughput is counted in IP bytes behind the queue, after all losses: it is goodput with headers and with spurious
    retransmissions.
    """
    rows = timeseries.windows(result, DATA, seconds_each)
    return rows["delay_ms"].to_numpy(), rows["throughput_mbps"].to_numpy()
