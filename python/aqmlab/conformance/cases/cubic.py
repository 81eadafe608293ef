"""CUBIC: RFC 9438."""

from __future__ import annotations

import numpy as np

from aqmlab.conformance import scenario
from aqmlab.conformance.case import Case, about
from aqmlab.conformance.cases import measures
from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import Floats, NotSeen, Reduction, Trace

BETA, C = 0.7, 0.4
"""The constants of RFC 9438, sections 4.6 and 5."""

ALPHA = 3 * (1 - BETA) / (1 + BETA)
"""The growth of the Reno-friendly window in segments a round trip, section 4.3."""


def _stage(trace: Trace, reduction: Reduction) -> tuple[Floats, Floats]:
    """Return the times since the start of a stage of congestion avoidance in seconds, and its windows."""
    start = trace.end_of(reduction)
    end = trace.until(start)
    return trace.time[start:end] - trace.time[start], trace.cwnd[start:end]


def _fit(trace: Trace, reduction: Reduction, spans: float = 1.6) -> tuple[float, float, float]:
    """Return C, K in seconds and the plateau in segments of the cubic that fits a stage up to ``spans`` times K."""
    times, windows = _stage(trace, reduction)
    plateau = reduction.before
    k = float(np.cbrt(max(plateau - windows[0], 0.0) / C))
    if k <= 0 or times[-1] < spans * k:
        raise NotSeen(f"the stage of congestion avoidance is shorter than {spans:g} K")
    kept = times <= spans * k
    cubic, square, linear, constant = np.polyfit(times[kept], windows[kept], 3)
    inflection = -square / (3 * cubic)
    return float(cubic), float(inflection), float(np.polyval((cubic, square, linear, constant), inflection))


def fitted_c(trace: Trace) -> float:
    """Return C of the curve after the second loss."""
    return _fit(trace, trace.recovery(2))[0]


def fitted_k(trace: Trace) -> float:
    """Return K of the curve after the second loss, divided by the cube root of the reduction over C."""
    reduction = trace.recovery(2)
    missing = reduction.before - _stage(trace, reduction)[1][0]
    return _fit(trace, reduction)[1] / float(np.cbrt(missing / C))


def deviation(trace: Trace) -> float:
    """Return the largest distance of the window from W_cubic(t) up to 1.6 K, as a fraction of the plateau."""
    reduction = trace.recovery(2)
    times, windows = _stage(trace, reduction)
    k = np.cbrt((reduction.before - windows[0]) / C)
    kept = times <= 1.6 * k
    curve = C * (times[kept] - k) ** 3 + reduction.before
    return float(np.abs(windows[kept] - curve).max() / reduction.before)


def plateau_after_early_loss(trace: Trace) -> float:
    """Return the plateau of the curve after a loss below the last plateau, divided by the window at the loss."""
    second, third = trace.recovery(2), trace.recovery(3)
    if third.before >= second.before:
        raise NotSeen("the third loss does not come below the window of the second")
    return _fit(trace, third, spans=1.2)[2] / third.before


def friendly_growth(trace: Trace) -> float:
    """Return the growth in segments a round trip until the window is that of the last reduction.

    The first two segments are left out: an estimate in whole segments begins to count in them.
    """
    reduction = trace.recovery(2)
    start = trace.end_of(reduction)
    windows = trace.cwnd[start : trace.until(start)]
    below = np.flatnonzero((windows >= windows[0] + 2) & (windows < reduction.before))
    if not len(below):
        raise NotSeen("the window is not below that of the last reduction")
    return trace.growth(start + int(below[0]), start + int(below[-1]))


def growth_above_prior(trace: Trace) -> float:
    """Return the growth in segments a round trip for ten segments above the window of the last reduction."""
    reduction = trace.recovery(2)
    start = trace.end_of(reduction)
    windows = trace.cwnd[start : trace.until(start)]
    above = np.flatnonzero((windows >= reduction.before + 1) & (windows < reduction.before + 11))
    if not len(above):
        raise NotSeen("the window does not rise above that of the last reduction")
    return trace.growth(start + int(above[0]), start + int(above[-1]))


def response(p: float, rtt_ms: float, window: float, why: str, *, periods: tuple[int, int], duration: str) -> Case:
    """Return a case of the response function."""
    distance = round(1 / p)
    return Case(
        id=f"cubic-response-{distance}-{rtt_ms:g}ms",
        clause="RFC 9438, section 5" if window > 100 else "RFC 9438, section 4.3",
        level="model",
        demand=f"With a loss every {distance:,} packets the mean window is {why}",
        quantity="mean window, segments",
        expected=about(window, 0.1, "the model has no recovery, and takes the curve at whole round trips"),
        scenario=scenario.one_flow(
            rtt_ms=rtt_ms,
            rate="1 Gbit/s",
            period_ms=2,
            # The first loss ends slow start at about the mean window.
            drop=(round(window), *scenario.every(distance, 20 * distance)),
            duration=duration,
        ),
        measure=measures.mean_window(*periods),
        follows_from=("cubic-beta", "cubic-c", *(() if window > 100 else ("cubic-friendly", "cubic-friendly-above"))),
    )


def average_cubic(p: float, rtt_s: float) -> float:
    """Return the mean window of the curve: RFC 9438, section 5."""
    return float((C * (3 + BETA) / (4 * (1 - BETA))) ** 0.25 * (rtt_s / p) ** 0.75)


STANDARD = read_standard(
    "cubic",
    {
        "cubic-beta": measures.threshold_factor(2),
        "cubic-c": fitted_c,
        "cubic-k": fitted_k,
        "cubic-curve": deviation,
        "cubic-fast-convergence": plateau_after_early_loss,
        "cubic-friendly": friendly_growth,
        "cubic-friendly-above": growth_above_prior,
        "cubic-loss-window": measures.window_at_timeout,
        "cubic-timeout-threshold": measures.threshold_factor_at_timeout,
    },
    values={"beta": BETA, "C": C, "alpha": ALPHA, "fast convergence": (1 + BETA) / 2},
    further=(
        response(
            1e-4,
            100,
            average_cubic(1e-4, 0.1),
            "1.054 (RTT / p)^0.75",
            periods=(6, 14),
            duration="90 s",
        ),
        response(
            2e-5,
            50,
            average_cubic(2e-5, 0.05),
            "1.054 (RTT / p)^0.75",
            periods=(4, 8),
            duration="60 s",
        ),
        response(1e-3, 10, (1.5 * 1e3) ** 0.5, "that of Reno", periods=(9, 17), duration="6 s"),
    ),
)
