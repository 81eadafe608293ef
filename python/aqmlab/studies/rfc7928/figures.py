"""RFC 7928's figures: ellipses of delay and throughput; fairness, delay and trade-offs as lines."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from aqmlab.results.figures import plot
from aqmlab.results.figures.charts import DELAY
from aqmlab.spec.schemes import Scheme
from aqmlab.store.result import Result
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.study import Figure, StudyResults
from aqmlab.studies.rfc7928 import losses, measures
from aqmlab.studies.rfc7928.runs import FAIRNESS, HEAVY, LEVELS, MEDIUM, MILD, OTHER_RTTS_MS, RTT_MS, STEP_S
from aqmlab.studies.rfc7928.schemes import FACTORS, REFERENCE, variants
from aqmlab.studies.rfc7928.tables import ratio
from aqmlab.studies.rfc7928.topologies import BACKGROUND, CAPACITY, CHANGES_S, FAST_STEP_S
from aqmlab.ui.canvas import GROUPED, LineStyles, legend_right

Styles = Mapping[str, Mapping[str, Any]]
"""Line styles of the schemes, by label."""

_SENDERS = {
    "same-iw": "5.1.1 NewReno and pages",
    "cubic": "5.2 CUBIC",
    "udp-tcp": "5.3.2 NewReno and UDP at 80 %",
    "mild": f"8.2.2 mild: {MILD} long flows",
    "medium": f"8.2.3 medium: {MEDIUM} long flows",
    "heavy": f"8.2.4 heavy: {HEAVY} long flows",
}
_MIXES = {
    "burst-2": "7 II: web, CBR, bulk",
    "burst-4": "7 IV: bursty video as well",
    "mix-2": "9.1 II: voice, web, 1 bulk",
    "mix-3": "9.1 III: voice, web, 5 bulk",
    "mix-5": "9.1 V: adaptive video as well",
    "two-way": "9.2 two-way, voice",
}


def figures(results: StudyResults, schemes: Sequence[Scheme]) -> list[Figure]:
    """Return all figures."""
    labels = list(dict.fromkeys([REFERENCE.label, *(scheme.label for scheme in schemes)]))
    lines = LineStyles(REFERENCE.label)
    lines.share_styles(labels)
    styles = {label: lines[label] for label in labels}
    ellipse = (
        "Queueing delay and throughput of each second: the centre of their joint distribution over all seeds, and its"
        " ellipse of one standard deviation. Better is up and to the left"
    )

    def figure(name: str, caption: str, draw: Callable[..., None], *parts: Any, size: tuple[float, float]) -> Figure:
        return Figure(name=name, caption=caption, draw=partial(draw, results, styles, *parts), size=size)

    return [
        figure("ellipses", f"{ellipse}. Kinds of senders and levels of congestion.", _ellipses, _SENDERS, size=(9, 6)),
        figure("ellipses-mixes", f"{ellipse}. Bursts, mixes and two-way traffic.", _ellipses, _MIXES, size=(9, 6)),
        figure(
            "fairness",
            f"Goodput of a NewReno flow relative to that of one with a round trip of {RTT_MS} ms. The thin line is"
            " equality.",
            _fairness,
            size=(8, 4.5),
        ),
        figure(
            "background",
            "Share of LEDBAT in the goodput of it and a NewReno flow, with a buffer of one and of four bandwidth-delay"
            " products: each seed, and the mean (large). The thin line is equality.",
            _background,
            size=(8, 4),
        ),
        figure(
            "losses",
            f"Left: intervals between consecutive losses under {LEVELS[1].title}, all seeds. Right: share of the flows"
            " that a loss event strikes, and its minimum, one flow (grey).",
            _losses,
            size=(9, 4),
        ),
        figure(
            "varying",
            f"Queueing delay while the load goes from {MILD} to {MEDIUM} to {HEAVY} long flows and back: mean of each"
            " second over the seeds, and its range.",
            _varying,
            size=(9, 5),
        ),
        figure(
            "capacity",
            "Queueing delay while the capacity goes from 100 to 10 Mbit/s (grey) and back every 20 s: mean of each"
            " fifth of a second over the seeds, and its range.",
            _capacity,
            size=(9, 5),
        ),
        figure(
            "capacity-fast",
            "Queueing delay while the capacity goes from 100 to 10 Mbit/s (grey) and back every 100 ms: mean at each"
            " time of this cycle.",
            _cycle,
            size=(8, 4.5),
        ),
        figure(
            "tuning",
            "Delay and goodput under medium congestion, with a discipline's main parameter multiplied by 1/4 to 4."
            " Large dots: the parameter as given.",
            _tuning,
            schemes,
            size=(8, 4.5),
        ),
    ]


def _ellipses(results: StudyResults, styles: Styles, scenarios: Mapping[str, str], canvas: Canvas) -> None:
    for axis, (name, title) in zip(canvas.subplots(2, 3).flat, scenarios.items(), strict=True):
        plot.ellipses(axis, {label: _points(results, f"{name}/{label}") for label in styles}, styles)
        axis.set_title(title, loc="left", fontsize=10)
    canvas.supxlabel("queueing delay, ms", fontsize=10)
    canvas.supylabel("throughput, Mbit/s", fontsize=10)
    _name_schemes(canvas, styles)


def _points(results: StudyResults, run: str) -> pl.DataFrame:
    """Return delay and throughput of each second of all seeds."""
    delays, rates = zip(*map(measures.windows, results[run]), strict=True)
    return pl.DataFrame({"delay_ms": np.concatenate(delays), "throughput_mbps": np.concatenate(rates)})


def _fairness(results: StudyResults, styles: Styles, canvas: Canvas) -> None:
    axis = canvas.subplots()
    axis.axhline(1, color="#bbbbbb", linewidth=0.8)
    for label in styles:
        ratios = [ratio(results, f"{scenario.name}/{label}") for scenario in FAIRNESS]
        plot.xy(axis, {label: pl.DataFrame({"x": OTHER_RTTS_MS, "y": ratios})}, styles, 4)
    axis.set(
        xscale="log", yscale="log", xlabel="the flow's round trip, ms", ylabel=f"its goodput, of that with {RTT_MS} ms"
    )
    axis.set_xticks(OTHER_RTTS_MS)
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(GROUPED)
    axis.set_yticks([1, 2, 5, 10, 0.5, 0.2, 0.1, 0.05])
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(GROUPED)
    _name_schemes(canvas, styles)


def _background(results: StudyResults, styles: Styles, canvas: Canvas) -> None:
    """Draw a point for each scheme: the queueing delay, and LEDBAT's share of the goodput."""
    shared = BACKGROUND[1:]
    for axis, scenario in zip(canvas.subplots(1, len(shared), sharey=True), shared, strict=True):
        axis.axhline(50, color="#bbbbbb", linewidth=0.8)
        for label, style in styles.items():
            some = results[f"{scenario.name}/{label}"]
            ledbat = np.array([kit.of_source("background", "goodput_mbps")(result) for result in some])
            shares = 100 * ledbat / [kit.goodput_mbps(result) for result in some]
            delays = [measures.delay_ms(result) for result in some]
            each = pl.DataFrame({"x": delays, "y": shares})
            plot.xy(axis, {label: each}, {label: {**_dots(style), "alpha": 0.4}}, 3)
            plot.xy(axis, {label: each.mean()}, {label: _dots(style)}, 8)
        axis.set(xscale="log", xlim=(0.1, 1000), ylim=(0, 100))
        axis.xaxis.set_major_formatter(GROUPED)
        axis.set_title(f"buffer of {scenario.room} packets", loc="left", fontsize=10)
    canvas.supxlabel("mean queueing delay, ms", fontsize=10)
    canvas.supylabel("LEDBAT's share of the goodput, %", fontsize=10)
    _name_schemes(canvas, styles)


def _losses(results: StudyResults, styles: Styles, canvas: Canvas) -> None:
    intervals, flows = canvas.subplots(1, 2)
    numbers = [MILD, MEDIUM, HEAVY]
    one = pl.DataFrame({"x": numbers, "y": [100 / number for number in numbers]})
    least = "minimum: one flow"
    plot.xy(flows, {least: one}, {least: {"color": "#888888", "linewidth": 0.8}})
    for label in styles:
        gaps = np.sort(np.concatenate([losses.gaps_ms(result) for result in results[f"{LEVELS[1].name}/{label}"]]))
        share = np.arange(1, len(gaps) + 1) / max(1, len(gaps))
        plot.xy(intervals, {label: pl.DataFrame({"x": gaps, "y": share})}, styles)
        struck = [_struck_percent(results[f"{level.name}/{label}"]) for level in LEVELS]
        plot.xy(flows, {label: pl.DataFrame({"x": numbers, "y": struck})}, styles, 4)
    intervals.set(xscale="log", xlabel="interval between losses, ms", ylabel="cumulative share", ylim=(0, 1))
    intervals.xaxis.set_major_formatter(GROUPED)
    flows.set(xlabel="long flows", ylabel="flows struck by a loss event, %", ylim=(0, 100), xticks=numbers)
    _name_schemes(canvas, styles, flows.get_lines()[0])


def _struck_percent(some: Sequence[Result]) -> float:
    """Return the mean over the seeds with losses; NaN without any."""
    known = [percent for each in some if math.isfinite(percent := losses.synchronisation_percent(each))]
    return statistics.fmean(known) if known else math.nan


def _varying(results: StudyResults, styles: Styles, canvas: Canvas) -> None:
    for axis in _over_time(results, styles, canvas, "varying", 1.0):
        for begin, shade in ((1, "#f3f3f3"), (2, "#e6e6e6")):
            axis.axvspan(begin * STEP_S, (begin + 1) * STEP_S, color=shade, linewidth=0)
        axis.set_ylim(bottom=0)


def _capacity(results: StudyResults, styles: Styles, canvas: Canvas) -> None:
    for axis in _over_time(results, styles, canvas, CAPACITY[0].name, 0.2):
        for begin in range(STEP_S, CHANGES_S, 2 * STEP_S):
            axis.axvspan(begin, begin + STEP_S, color="#eeeeee", linewidth=0)
        _delay_in_decades(axis)


def _over_time(results: StudyResults, styles: Styles, canvas: Canvas, scenario: str, seconds_each: float) -> list[Axes]:
    """Draw the delay of slices of a scenario, a panel for each scheme."""
    columns = 3
    rows = -(-len(styles) // columns)
    axes = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axis in axes[len(styles) :]:
        axis.remove()
    for axis, (label, style) in zip(axes, styles.items(), strict=False):
        delays = np.array([measures.windows(result, seconds_each)[0] for result in results[f"{scenario}/{label}"]])
        frame = pl.DataFrame(
            {
                "time_s": seconds_each * (np.arange(delays.shape[1]) + 0.5),
                "delay_ms_low": delays.min(axis=0),
                "delay_ms_mean": delays.mean(axis=0),
                "delay_ms_high": delays.max(axis=0),
            }
        )
        plot.lines(axis, DELAY, {label: frame}, {label: {"color": style["color"], "linewidth": 1.2}})
        axis.set(xlabel="", ylabel="")
        axis.set_title(label, loc="left", fontsize=10)
        axis.set_xlim(0, seconds_each * delays.shape[1])
    canvas.supxlabel("time, s", fontsize=10)
    canvas.supylabel("queueing delay, ms", fontsize=10)
    return list(axes[: len(styles)])


def _delay_in_decades(axis: Axes) -> None:
    # Linear below a packet's time at the slow rate, so that an empty queue is on the axis.
    axis.set_yscale("symlog", linthresh=1)
    ticks = [step * 10**decade for decade in range(7) for step in (1, 2, 5)]
    # The topmost tick is above all lines.
    top = next(tick for tick in ticks if tick >= axis.get_ylim()[1])
    axis.set_ylim(0, top)
    axis.set_yticks([0, *(tick for tick in ticks if tick <= top)])
    axis.yaxis.set_major_formatter(GROUPED)


def _cycle(results: StudyResults, styles: Styles, canvas: Canvas) -> None:
    axis = canvas.subplots()
    period_ms = round(2e3 * FAST_STEP_S)
    axis.axvspan(period_ms / 2, period_ms, color="#eeeeee", linewidth=0)
    phase = (1e3 * pl.col("time_s")).round().cast(pl.Int64) % period_ms
    for label in styles:
        delays = pl.concat(map(kit.delays_ms, results[f"{CAPACITY[1].name}/{label}"]))
        mean = delays.group_by(phase=phase).agg(pl.col("delay_ms").mean()).sort("phase")
        plot.xy(axis, {label: mean.rename({"phase": "x", "delay_ms": "y"})}, styles)
    axis.set(xlabel="time since the capacity became 100 Mbit/s, ms", ylabel="queueing delay, ms", xlim=(0, period_ms))
    _delay_in_decades(axis)
    _name_schemes(canvas, styles)


def _tuning(results: StudyResults, styles: Styles, schemes: Sequence[Scheme], canvas: Canvas) -> None:
    axis = canvas.subplots()
    medium = LEVELS[1]
    for scheme in schemes:
        if not variants(scheme, medium.room):
            continue
        label = scheme.label
        names = [f"tuned-{factor:g}" if factor != 1 else medium.name for factor in sorted((1.0, *FACTORS))]
        runs = [results[f"{name}/{label}"] for name in names]
        delays, rates = (
            [np.mean([measure(result) for result in some]) for some in runs]
            for measure in (measures.delay_ms, kit.goodput_mbps)
        )
        tuned = pl.DataFrame({"x": delays, "y": rates})
        plot.xy(axis, {label: tuned}, styles, 3)
        plot.xy(axis, {label: tuned[[names.index(medium.name)]]}, {label: _dots(styles[label])}, 8)
    axis.set(xscale="log", xlabel="mean queueing delay, ms", ylabel="goodput, Mbit/s")
    axis.xaxis.set_major_formatter(GROUPED)
    dots: dict[str, Any] = {"color": "#555555", "marker": "o", "linestyle": "none"}
    as_given = Line2D([], [], markersize=8, label="the parameter as given", **dots)
    _name_schemes(canvas, styles, Line2D([], [], markersize=3, label="times 1/4, 1/2, 2, 4", **dots), as_given)


def _dots(style: Mapping[str, Any]) -> dict[str, Any]:
    return {"color": style["color"], "linestyle": "none"}


def _name_schemes(canvas: Canvas, styles: Styles, *others: Line2D) -> None:
    """Name the schemes, and other lines, in a legend beside the panels."""
    legend_right(canvas, [*(Line2D([], [], label=label, **style) for label, style in styles.items()), *others])
