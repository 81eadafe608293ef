"""DCTCP: RFC 8257."""

from __future__ import annotations

import math

import numpy as np

from aqmlab.conformance import scenario
from aqmlab.conformance.case import Case, about, exactly
from aqmlab.conformance.cases import measures
from aqmlab.conformance.cases.standard import Standard
from aqmlab.conformance.trace import NotSeen, Trace

G = 1 / 16
"""The estimation gain of RFC 8257, section 4, after Alizadeh et al."""

ECN = {"ecn": "dctcp"}

MARKS = scenario.one_flow(drop=(300,), mark=(4_000, 7_000), tcp=ECN, duration="10 s")
"""A loss that ends slow start, and two marks of single packets far apart."""

WINDOW = scenario.one_flow(drop=(300,), mark=("4000-4079",), tcp=ECN, duration="6 s")
"""Marks of most of a window of data."""

LOSS = scenario.one_flow(drop=(300, 6_000), mark=(4_000,), tcp=ECN, duration="8 s")
"""A loss after a mark, at a small estimate."""

RATE_MBPS, RTT_MS, THRESHOLD = 100, 4.0, 40
"""The link of the step threshold: a bandwidth-delay product of 32 packets, and a threshold in packets."""

STEP = scenario.one_flow(
    rate=f"{RATE_MBPS} Mbit/s",
    rtt_ms=RTT_MS,
    queue={"threshold": {"threshold": THRESHOLD, "limit": 1000}},
    tcp=ECN,
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


STANDARD = Standard(
    "dctcp",
    "RFC 8257",
    ("dctcp",),
    (
        Case(
            id="dctcp-initial-alpha",
            clause="RFC 8257, section 3.3",
            level="model",
            demand="The estimate alpha starts at 1",
            quantity="alpha at the start, from the first reduction",
            expected=about(1, 0.15, "alpha decays once a window of data, whose number is that of round trips to one"),
            scenario=MARKS,
            measure=initial_alpha,
            follows_from=("dctcp-gain",),
        ),
        Case(
            id="dctcp-gain",
            clause="RFC 8257, section 3.3, step 6",
            level="SHOULD",
            demand="Each window of data moves alpha by g = 1/16 of its distance from the share of marks",
            quantity="g, from the reductions at two marks",
            expected=about(G, 0.1, "reductions of whole bytes, and the number of windows of data to one"),
            scenario=MARKS,
            measure=gain,
        ),
        Case(
            id="dctcp-once-a-window",
            clause="RFC 8257, section 3.3",
            level="MUST",
            demand="The marks of one window of data reduce the window once",
            quantity="reductions in a round trip",
            expected=exactly(1),
            scenario=WINDOW,
            measure=responses_to_window,
        ),
        Case(
            id="dctcp-loss",
            clause="RFC 8257, section 3.5",
            level="MUST",
            demand="A loss reduces as in standard TCP, at any alpha",
            quantity="threshold, fraction of the window before the loss",
            expected=about(0.5, 0.02, "a row every millisecond, and the window in whole bytes"),
            scenario=LOSS,
            measure=measures.threshold_factor(2),
        ),
        Case(
            id="dctcp-step-peak",
            clause="Alizadeh et al., SIGCOMM 2010, section 3.3",
            level="model",
            demand="At a step threshold K the window oscillates below C RTT + K",
            quantity="mean window before a reduction, segments",
            expected=about(BDP + THRESHOLD + 1, 0.05, "marks arrive a round trip later, in which a segment is added"),
            scenario=STEP,
            measure=steady_peak,
            follows_from=("dctcp-once-a-window", "dctcp-gain"),
        ),
        Case(
            id="dctcp-step-alpha",
            clause="Alizadeh et al., SIGCOMM 2010, section 3.3",
            level="model",
            demand="At a step threshold alpha is about the square root of 2 / (C RTT + K)",
            quantity="mean alpha",
            expected=about(math.sqrt(2 / (BDP + THRESHOLD)), 0.3, "the model takes alpha as constant and small"),
            scenario=STEP,
            measure=steady_alpha,
            follows_from=("dctcp-once-a-window", "dctcp-gain"),
        ),
    ),
)
