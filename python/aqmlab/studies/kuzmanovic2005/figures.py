"""Figures of Kuzmanovic (2005), from our results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from aqmlab.models import plot as queue_plot
from aqmlab.models.batch_queue import BatchQueue, burst_sizes, exceedance
from aqmlab.results.figures import plot
from aqmlab.results.figures.charts import CDF
from aqmlab.store.result import Result, pooled_cdf
from aqmlab.studies.kit.findings import Finding
from aqmlab.studies.kit.study import Figure, StudyResults
from aqmlab.studies.kuzmanovic2005 import measures, names
from aqmlab.studies.kuzmanovic2005.runs import web_bursts
from aqmlab.studies.kuzmanovic2005.tables import TARGET_PACKETS, interval
from aqmlab.ui.canvas import LineStyles, label_lines

_BASELINE = "uncongested"

_ABOVE = "above 5 ms"

_FORMS = {"drop": "no ECN", "ECN": "ECN", "ECN+": "ECN+"}


def figures(results: StudyResults) -> list[Figure]:
    """Return all figures."""
    styles = LineStyles(_BASELINE)
    return [
        *(_response_times(law, results, styles) for law in names.LAWS),
        _threshold(results, styles),
        _mean_queue(results),
        _exceedance(results),
    ]


def _response_times(law: str, results: StudyResults, styles: LineStyles) -> Figure:
    styles.share_styles(_FORMS.values())

    def draw(canvas: Canvas) -> None:
        rows = canvas.subplots(2, 2, width_ratios=(4, 5))
        for row, load in zip(rows, names.LOADS, strict=True):
            curves = {_BASELINE: results[names.uncongested(load)]} | {
                label: results[names.scheme(law, form, load)] for form, label in _FORMS.items()
            }
            _whole_and_slowest(row, curves, styles, title=f"{law}, {load} % load")
        for axis in rows[0]:
            axis.set_xlabel("")

    escaped = law.replace("*", "\\*")
    which = "Figure 5" if law == "PI" else "As figure 5"
    return Figure(
        name=f"response-times-{law.lower().replace('*', '-star')}",
        caption=f"{which}: response times under {escaped}. Right: the slowest fifth of the requests, enlarged.",
        draw=draw,
        size=(10, 7),
    )


def _threshold(results: StudyResults, styles: LineStyles) -> Figure:
    styles.share_styles(("threshold, ECN+", "PI, no ECN"))

    def draw(canvas: Canvas) -> None:
        curves = {
            _BASELINE: results[names.uncongested(90)],
            "threshold, ECN+": results[names.threshold(90)],
            "PI, no ECN": results[names.scheme("PI", "drop", 90)],
        }
        _whole_and_slowest(canvas.subplots(1, 2, width_ratios=(4, 5)), curves, styles, title="90 % load")

    return Figure(
        name="threshold",
        caption="Figure 6: a threshold with marks and ECN+ against PI with drops. Right: the slowest fifth of the"
        " requests, enlarged.",
        draw=draw,
        size=(10, 4),
    )


def _whole_and_slowest(
    row: Sequence[Axes], some: Mapping[str, list[Result]], styles: LineStyles, *, title: str
) -> None:
    curves = {label: pooled_cdf(results) for label, results in some.items()}
    whole, slowest = (label_lines(plot.lines(axis, CDF, curves, styles)) for axis in row)
    whole.set_title(title, loc="left", fontsize=10)
    legend = whole.get_legend()
    assert legend is not None, "every curve is named"
    legend.remove()
    # Under overload the slowest requests take longer than the papers' two seconds.
    reached = max(curve.filter(pl.col("fraction") >= 0.9)["time_ms"][0] for curve in curves.values())
    end = 2000 * max(1, math.ceil(reached / 2000))
    slowest.set(ylim=(80, 100), ylabel="", xlim=(0, end), xticks=range(0, end + 1, end // 4), yticks=range(80, 101, 5))


def _mean_queue(results: StudyResults) -> Figure:
    def draw(canvas: Canvas) -> None:
        lengths = list(range(1, max(names.LENGTHS) + 1))
        model = [
            BatchQueue(bursts=burst_sizes([packets], windows=measures.WINDOWS), utilisation=0.8).mean_packets
            for packets in lengths
        ]
        fixed = [packets - 0.8**2 / (2 * (1 - 0.8)) for packets in model]
        found = [interval(results[names.equal_flows(packets)], measures.queue_packets) for packets in names.LENGTHS]
        simulated = _points(found).with_columns(flow_packets=pl.Series(names.LENGTHS))
        curves = {
            "M[X]/M/1": pl.DataFrame({"flow_packets": lengths, "mean": model}),
            "M[X]/D/1": pl.DataFrame({"flow_packets": lengths, "mean": fixed}),
        }
        queue_plot.means(canvas.subplots(), curves, simulated={"simulated": simulated})

    return Figure(
        name="mean-queue",
        caption="Figure 7: mean queue over the length of flows, without AQM, at 80 % utilisation: model and"
        " simulation.",
        draw=draw,
    )


def _exceedance(results: StudyResults) -> Figure:
    def draw(canvas: Canvas) -> None:
        utilisations = np.linspace(0.4, 0.98, 59).tolist()
        bursts = web_bursts()
        model = exceedance(bursts, utilisations, target=TARGET_PACKETS)
        flows = [results[names.web_flows(percent)] for percent in names.UTILISATIONS]
        above = [interval(some, lambda result: measures.above(result, TARGET_PACKETS)) for some in flows]
        reached = pl.Series([interval(some, measures.utilisation).estimate for some in flows])
        simulated = _points(above).rename({"mean": "above"}).with_columns(utilisation=reached)
        queue_plot.exceedance(canvas.subplots(), {_ABOVE: model}, simulated={_ABOVE: simulated})

    return Figure(
        name="exceedance",
        caption="Figure 8: share of the time in which the queue of web flows without AQM is above the target of 5 ms:"
        " model and simulation.",
        draw=draw,
    )


def _points(found: list[Finding]) -> pl.DataFrame:
    """Return means with their intervals, which have no width with a single seed."""
    rows = [(each.estimate, each.low, each.high) if each.pairs > 1 else (each.estimate,) * 3 for each in found]
    return pl.DataFrame(rows, schema=["mean", "low", "high"], orient="row")
