"""Reno and NewReno: RFC 5681, RFC 6582 and RFC 6928."""

from __future__ import annotations

import math

import numpy as np

from aqmlab.conformance import scenario
from aqmlab.conformance.case import Case, about
from aqmlab.conformance.cases import measures
from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import NotSeen, Trace


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
    return float(trace.in_flight[after[0] : end + 1].max())


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


STANDARD = read_standard(
    "reno",
    {
        "reno-initial-window": measures.first_flight_bytes,
        "reno-slow-start": measures.slow_start_factor(3),
        "reno-congestion-avoidance": measures.growth_per_round(1),
        "reno-halving": measures.threshold_factor(2),
        "reno-deflation": measures.window_after_recovery(2),
        "newreno-one-reduction": reductions_of_one_window,
        "newreno-partial-acks": rounds_of_recovery,
        "reno-loss-window": measures.window_at_timeout,
        "reno-timeout-threshold": measures.threshold_factor_at_timeout,
        "reno-repeated-timeout": thresholds_of_repeated_timeouts,
        "reno-slow-start-end": measures.window_where_slow_start_ends,
        "reno-restart": window_after_pause,
    },
    further=(response(1_000, 100), response(1_000, 20), response(5_000, 20)),
)
