"""Kwon and Fahmy's figures 1, 2, 4 and 8 from our results, and their GFC-2 comparison as a picture."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from aqmlab.results.figures import plot
from aqmlab.store.result import Result
from aqmlab.studies.kit.study import Figure, StudyResults
from aqmlab.studies.kwon2003 import measures, names
from aqmlab.studies.kwon2003.published import published
from aqmlab.ui.canvas import PALETTE, legend_right

_BLUE, _ORANGE, _GREEN, _PURPLE, _YELLOW, _SKY = PALETTE
_GREY, _SHADE = "#8c8c8c", "#ececec"
_COLOURS = dict(zip(names.ALGORITHMS, ("#000000", _BLUE, _SKY, _ORANGE, _YELLOW, _PURPLE, _GREEN), strict=True))

_DOT = {"linestyle": "none"}
_POINTS = 1200


def all_figures(results: StudyResults) -> list[Figure]:
    """Return the comparison on GFC-2 and traces of the simple web configuration, each of the first seed."""

    def first(name: str) -> Result:
        return results[name][0]

    return [
        Figure(
            name="gfc2",
            caption="Tables 3 and 4: mean response time of sessions over mean delay of UDP packets on"
            " GFC-2, with the standard deviation over the seeds.",
            draw=lambda canvas: _comparison(canvas, results),
            size=(8.5, 4.2),
        ),
        Figure(
            name="figure1",
            caption="Figure 1: BLUE in the simple web configuration. Its drop probability p rises when the queue"
            " overflows, falls when it is empty, and stays constant in between. First seed.",
            draw=lambda canvas: _blue(canvas, first(names.web("BLUE"))),
        ),
        Figure(
            name="figure2",
            caption="Figure 2: RED in the simple web configuration. The probability follows the average queue, and"
            " stays high after the queue has gone. First seed.",
            draw=lambda canvas: _red(canvas, first(names.web("RED"))),
        ),
        Figure(
            name="figure4",
            caption="Figure 4: LDC with the weight of the queue alone, in the simple web configuration. The load"
            " factor is averaged over half a second. Shaded: it is above 1, so that more arrives than can leave."
            " First seed.",
            draw=lambda canvas: _load_and_probability(canvas, first(names.QUEUE_ONLY)),
            size=(8, 5.5),
        ),
        Figure(
            name="figure8",
            caption="Figure 8: LDC with a target of 1.6 s in the simple web configuration. LDC compares the average"
            " with the target. First seed.",
            draw=lambda canvas: _delay_and_target(canvas, first(names.DELAY_TARGET)),
        ),
    ]


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave as many samples as a figure has room for."""
    return rows.gather_every(max(1, len(rows) // _POINTS))


def _until(rows: pl.DataFrame, end_s: float) -> pl.DataFrame:
    return rows.filter(pl.col("time_s") <= end_s)


def _queue_and_probability(canvas: Canvas, rows: pl.DataFrame, variable: str) -> None:
    """Draw a queue, with its average where there is one, and its law's drop probability."""
    queue, probability = canvas.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    named = plot.trace(queue, rows.rename({"kb": "queue"})).get_lines()
    queue.axhline(measures.BUFFER_KB, color=_GREY, linewidth=0.8)
    end = rows["time_s"][-1]
    queue.annotate("buffer", (end, measures.BUFFER_KB), (0, -11), textcoords="offset points", ha="right", fontsize=9)
    queue.set(ylabel="queue, kB", xlim=(0, end), ylim=(0, measures.BUFFER_KB * 1.04))
    _probability(probability, rows, variable, f"its {variable}")
    probability.set_xlabel("time, s")
    legend_right(queue, named)
    canvas.align_ylabels()


def _blue(canvas: Canvas, result: Result) -> None:
    _queue_and_probability(canvas, _shown(measures.trace(result)), "p")


def _red(canvas: Canvas, result: Result) -> None:
    rows = _shown(_until(measures.trace(result), 100))
    _queue_and_probability(canvas, rows.with_columns(average=pl.col("avg") * measures.PACKET_KB), "p_b")


def _probability(axis: Axes, rows: pl.DataFrame, variable: str, name: str) -> None:
    curve = rows.select(x="time_s", y=variable)
    plot.xy(axis, {name: curve}, {name: {"color": _PURPLE, "linewidth": 1.2}})
    axis.set(ylabel="drop probability", ylim=(0, None))
    legend_right(axis, axis.get_lines())


def _load_and_probability(canvas: Canvas, result: Result) -> None:
    """Draw queue, probability and load from 80 to 100 s, as the paper does."""
    span = (80, 100)
    rows = measures.trace(result).filter(pl.col("time_s").is_between(*span, closed="left"))
    loads = rows.group_by(time_s=(2 * pl.col("time_s")).floor() / 2, maintain_order=True).agg(pl.col("r_avg").mean())
    queue, probability, load = canvas.subplots(3, 1, sharex=True)
    for axis in (queue, probability, load):
        axis.set_xlim(span)
        for start, factor in loads.iter_rows():
            if factor > 1:
                axis.axvspan(start, start + 0.5, color=_SHADE, linewidth=0)
    shown = _shown(rows)
    plot.trace(queue, shown.select("time_s", queue="kb", average=pl.col("q_avg") / 1000))
    queue.set(ylabel="queue, kB", ylim=(0, None))
    legend_right(queue, queue.get_lines())
    _probability(probability, shown, "p_drop", "p_drop")
    steps = pl.DataFrame({"x": [*loads["time_s"], span[1]], "y": [*loads["r_avg"], loads["r_avg"][-1]]})
    plot.xy(load, {"load": steps}, {"load": {"color": _GREEN, "linewidth": 1.2, "drawstyle": "steps-post"}})
    load.axhline(1, color=_GREY, linewidth=0.8)
    legend_right(load, [Patch(facecolor=_SHADE, edgecolor=_GREY, linewidth=0.5, label="load above 1")], colour="black")
    load.set(ylabel="load factor", xlabel="time, s", ylim=(0, None))
    canvas.align_ylabels()


def _delay_and_target(canvas: Canvas, result: Result) -> None:
    target = measures.target_s(result)
    rows = _shown(measures.trace(result))
    axis = canvas.subplots()
    plot.trace(axis, rows.select("time_s", queue="delay_s", average=8 * pl.col("q_avg") / pl.col("rate")))
    axis.axhline(target, color=_GREEN, linewidth=1.4, label="target")
    axis.set(xlabel="time, s", ylabel="queueing delay, s", ylim=(0, None), xlim=(0, rows["time_s"][-1]))
    legend_right(axis, axis.get_lines())


def _comparison(canvas: Canvas, results: StudyResults) -> None:
    # On one scale of decades: theirs and ours differ by a factor, and the schemes by less.
    theirs, ours = canvas.subplots(1, 2, sharex=True, sharey=True)
    for algorithm in names.ALGORITHMS:
        means, deviations = (published(statistic)[algorithm] for statistic in ("mean", "std"))
        delay, response = "udp_delay_mean_s", "http_response_mean_s"
        _point(theirs, algorithm, [means[delay], means[response]], [deviations[delay], deviations[response]])
        rows = pl.DataFrame(
            [
                {"delay": measures.udp_delay_s(each), "response": measures.session_s(each)}
                for each in results[names.gfc2(algorithm)]
            ]
        )
        _point(ours, algorithm, rows.mean().row(0), rows.std().row(0))
    theirs.set_title("published", loc="left", fontsize=10)
    ours.set_title("ours", loc="left", fontsize=10)
    for axis in (theirs, ours):
        axis.set(xlabel="mean UDP delay, s", ylabel="mean response time, s", xscale="log", yscale="log")
    ours.set_ylabel("")
    legend_right(canvas, theirs.get_lines())


def _point(axis: Axes, algorithm: str, mean: Sequence[float], deviation: Sequence[float | None]) -> None:
    x, y = mean
    dx, dy = (each or 0.0 for each in deviation)
    point = {"x": [x], "y": [y], "low": [y - dy], "high": [y + dy], "left": [x - dx], "right": [x + dx]}
    plot.xy(axis, {algorithm: pl.DataFrame(point)}, {algorithm: {"color": _COLOURS[algorithm], **_DOT}}, 6)
