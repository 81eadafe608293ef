"""CUBIC: RFC 9438."""

from __future__ import annotations

import numpy as np

from aqmlab.conformance import scenario
from aqmlab.conformance.case import Case, about, at_least, at_most
from aqmlab.conformance.cases import measures
from aqmlab.conformance.cases.standard import Standard
from aqmlab.conformance.trace import Floats, NotSeen, Reduction, Trace

BETA, C = 0.7, 0.4
"""The constants of RFC 9438, sections 4.6 and 5."""

ALPHA = 3 * (1 - BETA) / (1 + BETA)
"""The growth of the Reno-friendly window in segments a round trip, section 4.3."""

CURVE = scenario.one_flow(drop=(200, 50_000), duration="36 s")
"""A loss in slow start, and one in the convex region, above the window of the first; then some 20 s without losses."""

EARLY = scenario.one_flow(drop=(200, 50_000, 56_000), duration="30 s")
"""A third loss before the window is again where the second one was."""

FRIENDLY = scenario.one_flow(rtt_ms=10, drop=(80, 4_000), duration="3 s")
"""Small windows and round trips, where Reno grows faster than the curve."""

OUTAGE = scenario.one_flow(
    drop=(600,), link={"outages": [{"at": "5 s", "lasts": "300 ms", "packets": "lost"}]}, duration="20 s"
)


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


STANDARD = Standard(
    "cubic",
    "RFC 9438",
    ("cubic", "cubic-rfc9438"),
    (
        Case(
            id="cubic-beta",
            clause="RFC 9438, section 4.6",
            level="SHOULD",
            demand="After a loss the threshold is 0.7 times the flight size",
            quantity="threshold, fraction of the window before the loss",
            expected=about(BETA, 0.01, "a row every millisecond; windows in whole segments"),
            scenario=CURVE,
            measure=measures.threshold_factor(2),
        ),
        Case(
            id="cubic-c",
            clause="RFC 9438, section 5.1",
            level="SHOULD",
            demand="The window is a cubic function of time with C = 0.4",
            quantity="C of the curve that fits the window, segments per cubic second",
            expected=about(C, 0.1, "the window follows the curve up to a round trip later"),
            scenario=CURVE,
            measure=fitted_c,
        ),
        Case(
            id="cubic-k",
            clause="RFC 9438, section 4.2",
            level="model",
            demand="The curve is flat after K, the cube root of (W_max - cwnd_epoch) / C",
            quantity="time of the inflection, fraction of K",
            expected=about(1, 0.05, "the window follows the curve up to a round trip later"),
            scenario=CURVE,
            measure=fitted_k,
            follows_from=("cubic-c",),
        ),
        Case(
            id="cubic-curve",
            clause="RFC 9438, sections 4.2, 4.4 and 4.5",
            level="MUST",
            demand="The window follows W_cubic(t) in the concave and the convex region",
            quantity="largest distance from the curve, fraction of W_max",
            expected=at_most(0.03, "the window reaches the curve a round trip later, in whole segments"),
            scenario=CURVE,
            measure=deviation,
            follows_from=("cubic-c",),
        ),
        Case(
            id="cubic-fast-convergence",
            clause="RFC 9438, section 4.7",
            level="SHOULD",
            demand="A loss below the last W_max sets W_max to 0.85 of the window",
            quantity="plateau of the next curve, fraction of the window at the loss",
            expected=about((1 + BETA) / 2, 0.03, "the plateau is that of a fitted curve"),
            scenario=EARLY,
            measure=plateau_after_early_loss,
            follows_from=("cubic-beta", "cubic-c"),
        ),
        Case(
            id="cubic-friendly",
            clause="RFC 9438, section 4.3",
            level="SHOULD",
            demand="Where Reno is faster, the window grows by 3 (1 - 0.7) / (1 + 0.7) segments in a round trip",
            quantity="growth of the window in a round trip, segments",
            expected=about(ALPHA, 0.05, "the window grows in steps of a segment"),
            scenario=FRIENDLY,
            measure=friendly_growth,
            follows_from=("cubic-beta",),
        ),
        Case(
            id="cubic-friendly-above",
            clause="RFC 9438, section 4.3",
            level="SHOULD",
            demand="From the window of the last reduction on, it grows by a segment in a round trip",
            quantity="growth of the window in a round trip, segments",
            expected=at_least(0.95, "the curve may be faster than Reno"),
            scenario=FRIENDLY,
            measure=growth_above_prior,
        ),
        Case(
            id="cubic-loss-window",
            clause="RFC 9438, section 4.8, and RFC 5681, section 3.1",
            level="MUST",
            demand="After a retransmission timeout the window is at most one segment",
            quantity="window after the timeout, segments",
            expected=at_most(1, "the clause is an upper bound"),
            scenario=OUTAGE,
            measure=measures.window_at_timeout,
        ),
        Case(
            id="cubic-timeout-threshold",
            clause="RFC 9438, section 4.8",
            level="model",
            demand="After a retransmission timeout the threshold is 0.7 times the flight size",
            quantity="threshold, fraction of the window before the timeout",
            expected=about(BETA, 0.02, "a row every millisecond; windows in whole segments"),
            scenario=OUTAGE,
            measure=measures.threshold_factor_at_timeout,
            follows_from=("cubic-beta",),
        ),
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
