"""Individual losses (RFC 7928, sections 2.3 and 2.4): the time between them, and the flows that they strike at once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from aqmlab._core import seconds
from aqmlab.store.result import Result
from aqmlab.studies.kit.measures import DATA

_Floats = NDArray[np.float64]

BURST_MS = 2.5
"""Longest interval between two losses of a burst: the time of two full packets on the link. Our choice."""


@cache
def _losses(result: Result) -> tuple[_Floats, NDArray[np.int64]]:
    """Return time in ms and flow of each loss in the direction of the data, with those of retransmissions."""
    losses = result.losses.filter(direction=DATA).sort("time_s")
    return 1e3 * losses["time_s"].to_numpy(), losses["flow"].to_numpy().astype(np.int64)


def gaps_ms(result: Result) -> _Floats:
    """Return the intervals between consecutive losses at the queue, of all flows."""
    gaps: _Floats = np.diff(_losses(result)[0])
    return gaps


def mean_gap_ms(result: Result) -> float:
    """Return the mean interval between consecutive losses."""
    gaps = gaps_ms(result)
    return float(gaps.mean()) if len(gaps) else math.nan


def variation(result: Result) -> float:
    """Return the coefficient of variation of the intervals: 0 where losses are regular, 1 where they are random."""
    gaps = gaps_ms(result)
    return float(gaps.std() / gaps.mean()) if len(gaps) > 1 else math.nan


def burst_percent(result: Result) -> float:
    """Return the share of losses that follow another in its burst."""
    gaps = gaps_ms(result)
    return float(100 * (gaps <= BURST_MS).mean()) if len(gaps) else math.nan


def synchronisation_percent(result: Result) -> float:
    """Return the global synchronisation ratio (Jay, Fu & Armitage 2006): the flows struck by a loss event, in percent.

    A loss event begins with a loss outside earlier events and lasts for a round trip without a queue, within which
    senders cannot respond. It strikes at least one flow.
    """
    times, flows = _losses(result)
    (bulk,) = (source["bulk"] for source in result.cell.resolved["sources"])
    round_trip_ms = 1e3 * seconds(bulk["rtt"]["fixed"])
    struck, begin = [], 0
    while begin < len(times):
        end = int(np.searchsorted(times, times[begin] + round_trip_ms))
        struck.append(len(np.unique(flows[begin:end])))
        begin = end
    return 100 * float(np.mean(struck)) / int(bulk["flows"]) if struck else math.nan
