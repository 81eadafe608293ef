"""Reno and NewReno: RFC 5681, RFC 6582 and RFC 6928."""

from __future__ import annotations

import math

import numpy as np

from aqmlab.conformance import scenario
from aqmlab.conformance.case import Case, about, at_most, exactly
from aqmlab.conformance.cases import measures
from aqmlab.conformance.cases.standard import Standard
from aqmlab.conformance.trace import NotSeen, Trace

ROWS = "a row every millisecond, and the window in whole bytes"

LOSSES = scenario.one_flow(drop=(300, 5_000))
"""A loss in slow start, and one in congestion avoidance."""

OUTAGE = scenario.one_flow(
    drop=(300,), link={"outages": [{"at": "5 s", "lasts": "300 ms", "packets": "lost"}]}, duration="20 s"
)
"""A loss in slow start, and later an outage of three round trips that loses every packet."""

LONG_OUTAGE = scenario.one_flow(
    drop=(300,), link={"outages": [{"at": "5 s", "lasts": "3 s", "packets": "lost"}]}, duration="12 s"
)

THREE_LOSSES = scenario.one_flow(drop=(300, 5_000, 5_010, 5_020), tcp={"sack": False, "rack": False})
"""Three losses in one window, without selective acknowledgements."""

PAUSE = scenario.one_flow(
    source={
        "on_off": {
            "flows": 1,
            "spread": "0 s",
            "size": {"fixed": "2 MB"},
            "off": {"fixed": "3 s"},
            "rtt": {"fixed": "98 ms"},
        }
    },
    duration="8 s",
)
"""Two responses of 2 MB with a pause of 3 s."""


def reductions_of_one_window(trace: Trace) -> float:
    """Return the number of reductions for the three losses."""
    first = trace.recovery(2)
    thresholds = trace.ssthresh[first.at - 1 : trace.at(first.time_s + 6 * trace.rtt_s)]
    return float(np.count_nonzero(np.diff(thresholds)))


def rounds_of_recovery(trace: Trace) -> float:
    """Return the length of the recovery from three losses, in round trips."""
    first = trace.recovery(2)
    return float((trace.time[trace.end_of(first)] - first.time_s) / trace.rtt_s)


def thresholds_of_repeated_timeouts(trace: Trace) -> float:
    """Return the threshold after the last timeout for the same data, divided by that after the first."""
    timeout = trace.timeout()
    rto = trace.column("rto_ms")[timeout.at : trace.end_of(timeout)]
    if rto.max() < 1.9 * rto[0]:
        raise NotSeen("the retransmission timer does not expire twice for the same data")
    return float(np.nanmin(trace.ssthresh[timeout.at : trace.end_of(timeout)]) / timeout.ssthresh)


def window_after_pause(trace: Trace) -> float:
    """Return the most data in flight in the first round trip after a pause, in segments."""
    idle = trace.in_flight == 0
    starts = np.flatnonzero(idle[:-1] & ~idle[1:]) + 1
    after = [int(at) for at in starts if trace.time[at] > trace.time[0] + 2]
    if not after:
        raise NotSeen("the flow does not send again after a pause")
    end = trace.at(trace.time[after[0]] + 0.9 * trace.rtt_s)
    return float(trace.in_flight[after[0] : end].max())


def response(loss_every: int, rtt_ms: float) -> Case:
    """Return the case of the response function for a loss every ``loss_every`` packets."""
    window = math.sqrt(1.5 * loss_every)
    return Case(
        id=f"reno-response-{loss_every}-{rtt_ms:g}ms",
        clause="RFC 9438, section 4.3, on AIMD(1, 0.5)",
        level="model",
        demand=f"With a loss every {loss_every:,} packets the mean window is the square root of 1.5 / p",
        quantity="mean window, segments",
        expected=about(
            window,
            0.1,
            "the model has no recovery, a round trip at half the window in each period",
        ),
        scenario=scenario.one_flow(
            rtt_ms=rtt_ms,
            # The first loss ends slow start at about the mean window.
            drop=(round(window), *scenario.every(loss_every, 20 * loss_every)),
            duration=f"{0.02 * rtt_ms * loss_every / window:.1f} s",
        ),
        measure=measures.mean_window(9, 17),
        follows_from=("reno-halving", "reno-congestion-avoidance"),
    )


STANDARD = Standard(
    "reno",
    "RFC 5681, RFC 6582, RFC 6928",
    ("reno",),
    (
        Case(
            id="reno-initial-window",
            clause="RFC 6928, section 2 (updates RFC 5681, section 3.1)",
            level="MAY",
            demand="The initial window is at most min(10 MSS, max(2 MSS, 14,600 bytes))",
            quantity="data sent before the first acknowledgement, bytes",
            expected=at_most(14_600, "the clause is an upper bound"),
            scenario=LOSSES,
            measure=measures.first_flight_bytes,
        ),
        Case(
            id="reno-slow-start",
            clause="RFC 5681, section 3.1, equation 2",
            level="SHOULD",
            demand="In slow start each acknowledgement adds the bytes acknowledged, so that the window doubles",
            quantity="growth of the window in a round trip, factor",
            expected=about(2, 0.02, "a round trip is a little longer than its propagation delay"),
            scenario=LOSSES,
            measure=measures.slow_start_factor(3),
        ),
        Case(
            id="reno-congestion-avoidance",
            clause="RFC 5681, section 3.1, equation 3",
            level="SHOULD",
            demand="In congestion avoidance the window grows by one segment in a round trip",
            quantity="growth of the window in a round trip, segments",
            expected=about(1, 0.05, "the window grows in steps of a segment, which a line does not fit"),
            scenario=LOSSES,
            measure=measures.growth_per_round(1),
        ),
        Case(
            id="reno-halving",
            clause="RFC 5681, section 3.2, step 2, and equation 4",
            level="MUST",
            demand="After a loss the threshold is at most half of the flight size",
            quantity="threshold, fraction of the window before the loss",
            expected=about(0.5, 0.02, f"{ROWS}; the flight size may be a segment below the window"),
            scenario=LOSSES,
            measure=measures.threshold_factor(2),
        ),
        Case(
            id="reno-deflation",
            clause="RFC 5681, section 3.2, step 6",
            level="MUST",
            demand="After fast recovery the window is the threshold",
            quantity="window after recovery, fraction of the threshold",
            expected=about(1, 0.02, f"{ROWS}; the first acknowledgement after recovery may add a segment"),
            scenario=LOSSES,
            measure=measures.window_after_recovery(2),
        ),
        Case(
            id="newreno-one-reduction",
            clause="RFC 6582, section 3.2, step 1",
            level="model",
            demand="Three losses of one window of data reduce the window once",
            quantity="reductions of the threshold",
            expected=exactly(1),
            scenario=THREE_LOSSES,
            measure=reductions_of_one_window,
        ),
        Case(
            id="newreno-partial-acks",
            clause="RFC 6582, section 3.2, step 3",
            level="model",
            demand="Each partial acknowledgement retransmits a segment, so that three losses take three round trips",
            quantity="length of fast recovery, round trips",
            expected=about(3, 0.1, "the retransmissions wait for the packets before them"),
            scenario=THREE_LOSSES,
            measure=rounds_of_recovery,
        ),
        Case(
            id="reno-loss-window",
            clause="RFC 5681, section 3.1",
            level="MUST",
            demand="After a retransmission timeout the window is at most one segment",
            quantity="window after the timeout, segments",
            expected=at_most(1, "the clause is an upper bound"),
            scenario=OUTAGE,
            measure=measures.window_at_timeout,
        ),
        Case(
            id="reno-timeout-threshold",
            clause="RFC 5681, section 3.1, equation 4",
            level="MUST",
            demand="After a retransmission timeout the threshold is at most half of the flight size",
            quantity="threshold, fraction of the window before the timeout",
            expected=about(0.5, 0.02, f"{ROWS}; the flight size may be a segment below the window"),
            scenario=OUTAGE,
            measure=measures.threshold_factor_at_timeout,
        ),
        Case(
            id="reno-repeated-timeout",
            clause="RFC 5681, section 3.1",
            level="MUST",
            demand="Further timeouts for the same segment keep the threshold",
            quantity="threshold after the last timeout, fraction of that after the first",
            expected=exactly(1),
            scenario=LONG_OUTAGE,
            measure=thresholds_of_repeated_timeouts,
        ),
        Case(
            id="reno-slow-start-end",
            clause="RFC 5681, section 3.1",
            level="MUST",
            demand="Slow start ends where the window reaches the threshold",
            quantity="window where fast growth ends, fraction of the threshold",
            expected=about(1, 0.1, "the window has grown for one more round trip when slow growth is visible"),
            scenario=OUTAGE,
            measure=measures.window_where_slow_start_ends,
            follows_from=("reno-loss-window",),
        ),
        Case(
            id="reno-restart",
            clause="RFC 5681, section 4.1",
            level="SHOULD",
            demand="After a pause longer than the retransmission timeout the window is at most the initial window",
            quantity="data in flight in the first round trip after a pause, segments",
            expected=at_most(10, "the initial window of the stack"),
            scenario=PAUSE,
            measure=window_after_pause,
        ),
        response(1_000, 100),
        response(1_000, 20),
        response(5_000, 20),
    ),
)
