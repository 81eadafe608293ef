"""DCTCP: RFC 8257."""

from __future__ import annotations

import math

import numpy as np

from aqmlab.conformance import scenario
from aqmlab.conformance.cases import measures
from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import NotSeen, Trace

G = 1 / 16
"""The estimation gain of RFC 8257, section 4, after Alizadeh et al."""

RATE_MBPS, RTT_MS, THRESHOLD = 100, 4.0, 40
"""The link of the step threshold: a bandwidth-delay product of 32 packets, and a threshold in packets."""

STEP = scenario.one_flow(
    rate=f"{RATE_MBPS} Mbit/s",
    rtt_ms=RTT_MS,
    queue={"threshold": {"threshold": THRESHOLD, "limit": 1000}},
    tcp={"ecn": "dctcp"},
    duration="4 s",
)

BDP = RATE_MBPS * 1e6 * RTT_MS / 1e3 / 8 / 1538
"""The bandwidth-delay product in packets with their frames."""


def _alpha(trace: Trace, number: int) -> float:
    """Return the estimate that a response to a mark shows: the window falls by alpha / 2."""
    response = trace.mark_response(number)
    return 2 * (1 - response.cwnd / response.before)


def initial_alpha(trace: Trace) -> float:
    """Return the estimate at the start, from the decay until the first mark by the gain of the standard."""
    response = trace.mark_response(1)
    windows = (response.time_s - trace.time[0]) / trace.rtt_s
    return float(_alpha(trace, 1) / (1 - G) ** round(windows))


def gain(trace: Trace) -> float:
    """Return the gain: the decay of the estimate between two marks."""
    first, second = trace.mark_response(1), trace.mark_response(2)
    windows = (second.time_s - first.time_s) / trace.rtt_s
    # The window with the first mark adds its share to the estimate.
    share = G / first.before
    decay = _alpha(trace, 2) / (_alpha(trace, 1) + share)
    if decay <= 0:
        raise NotSeen("the second mark does not reduce the window")
    return float(1 - decay ** (1 / round(windows)))


def responses_to_window(trace: Trace) -> float:
    """Return the number of reductions for the marks of one window of data."""
    first = trace.mark_response(1)
    return float(sum(first.time_s <= one.time_s < first.time_s + 0.9 * trace.rtt_s for one in trace.mark_responses))


def steady_alpha(trace: Trace) -> float:
    """Return the mean estimate in the second half of the run."""
    return float(np.nanmean(trace.variable("alpha_fraction")[len(trace.time) // 2 :]))


def steady_peak(trace: Trace) -> float:
    """Return the mean of the window before each response to a mark, in segments, in the second half of the run."""
    peaks = [one.before for one in trace.mark_responses if one.time_s > trace.time[-1] / 2]
    if not peaks:
        raise NotSeen("no mark in the second half of the run")
    return float(np.mean(peaks))


STANDARD = read_standard(
    "dctcp",
    {
        "dctcp-initial-alpha": initial_alpha,
        "dctcp-gain": gain,
        "dctcp-once-a-window": responses_to_window,
        "dctcp-loss": measures.threshold_factor(2),
        "dctcp-step-peak": steady_peak,
        "dctcp-step-alpha": steady_alpha,
    },
    values={"g": G, "peak": BDP + THRESHOLD + 1, "steady alpha": math.sqrt(2 / (BDP + THRESHOLD))},
    scenarios={"step": STEP},
)
