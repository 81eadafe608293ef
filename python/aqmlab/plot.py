"""Functions for your own figures: each draws frames by scheme on an axis of matplotlib, and returns the axis.

Colours, dashes and widths are those of all other figures, the same for the same list of schemes; ``uncongested`` is
thin and black. If you change ``axes.prop_cycle`` and ``lines.linewidth`` in matplotlib's ``rcParams``, they override
the styles; keyword arguments override both. :mod:`aqmlab.style` has the sizes of a paper. The legend is inside the
axis. A figure without a layout engine gets ``constrained``, so that a plain ``savefig`` includes everything.

>>> import aqmlab as lab
>>> lab.plot.cdf(comparison.response_times(), axis)  # doctest: +SKIP
>>> lab.plot.bars(comparison.intervals("loss_percent"), axis).set_xlabel("loss, %")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import Any, Literal, get_args

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cbook import normalize_kwargs
from matplotlib.lines import Line2D

from aqmlab.explanations.plot import shares
from aqmlab.flows import jain, last_change_s, rates, senders, time_to_converge_s
from aqmlab.results.cells import BASELINE
from aqmlab.results.figures import charts, plot
from aqmlab.ui.canvas import LineStyles, format_numbers, label_directly, labels_directly, legend_inside

__all__ = [
    "bars",
    "ccdf",
    "cdf",
    "density",
    "difference",
    "ellipse",
    "flows",
    "heatmap",
    "parts",
    "queue",
    "slowdown",
    "trace",
    "xy",
]


def cdf(curves: Mapping[str, pl.DataFrame], axis: Axes, **line: Any) -> Axes:
    """Draw the share of requests answered within a time, with bands if there are any.

    Parameters
    ----------
    curves
        Frames of ``time_ms`` and ``fraction``, such as ``comparison.response_times()`` or those of :func:`aqmlab.cdf`;
        ``low`` and ``high``, if present, are the bounds of a band.
    axis
        The axis to draw on.
    **line
        Properties of every line, as for :meth:`matplotlib.axes.Axes.plot`.
    """
    return _finish(plot.lines(axis, charts.CDF, curves, _styles(curves, line)))


def ccdf(curves: Mapping[str, pl.DataFrame], axis: Axes, **line: Any) -> Axes:
    """Draw the share of requests that take longer than a time, on logarithmic axes.

    The parameters are those of :func:`cdf`.
    """
    return _finish(plot.lines(axis, charts.CCDF, curves, _styles(curves, line)))


def difference(bands: Mapping[str, pl.DataFrame], axis: Axes, *, to: str, **line: Any) -> Axes:
    """Draw the differences of distributions of response times from that of the scheme ``to``, each with its band.

    Parameters
    ----------
    bands
        Frames of :func:`aqmlab.difference_band`, such as ``comparison.response_time_differences()``.
    axis
        The axis to draw on.
    to
        The scheme that they are compared with, such as ``comparison.first``.
    **line
        Properties of every line, as for :meth:`matplotlib.axes.Axes.plot`.
    """
    return _finish(plot.difference(axis, bands, _styles((to, *bands), line), to))


def bars(intervals: Mapping[str, pl.DataFrame], axis: Axes, **bar: Any) -> Axes:
    """Draw a bar for each scheme, with a line for its interval if there is one.

    Parameters
    ----------
    intervals
        Frames of one row with ``mean``, ``low`` and ``high``, such as ``comparison.intervals("loss_percent")``; an
        empty frame has no bar.
    axis
        The axis to draw on.
    **bar
        Properties of every bar, as for :meth:`matplotlib.axes.Axes.barh`.
    """
    styles = _styles(intervals)
    for index, (label, interval) in enumerate(intervals.items()):
        for mean, low, high in interval.iter_rows():
            bar_style = {"height": 0.7, "color": styles[label]["color"], "alpha": 0.85, **bar}
            axis.barh(index, mean, label=label, **bar_style)
            if low is not None:
                axis.plot([low, high], [index, index], color="#222", linewidth=1.5)
    axis.set_yticks(range(len(intervals)), list(intervals))
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    _use_constrained_layout(axis)
    return axis


def slowdown(curves: Mapping[str, pl.DataFrame], axis: Axes, *, quantile: str = "p50", **line: Any) -> Axes:
    """Draw slowdowns, relative to the uncongested network, by the size of the response.

    Parameters
    ----------
    curves
        Frames such as ``comparison.slowdowns()``.
    axis
        The axis to draw on.
    quantile
        The quantile of the slowdowns of requests of one size: ``"p50"``, ``"p90"`` or ``"p99"``.
    **line
        Properties of every line, as for :meth:`matplotlib.axes.Axes.plot`.
    """
    return _finish(plot.lines(axis, charts.slowdown(quantile), curves, _styles(curves, line)))


def queue(curves: Mapping[str, pl.DataFrame], axis: Axes, **line: Any) -> Axes:
    """Draw the mean queueing delay over time, with a band from the minimum to the maximum.

    Parameters
    ----------
    curves
        Frames such as ``comparison.queues(direction=1)``.
    axis
        The axis to draw on.
    **line
        Properties of every line, as for :meth:`matplotlib.axes.Axes.plot`.
    """
    return _finish(plot.lines(axis, charts.DELAY, curves, _styles(curves, line)))


FlowValue = Literal["cwnd", "in_flight", "rtt", "pacing", "rate", "share", "jain"]
"""A value of flows over time."""

_FLOW_COLUMNS: Mapping[str, tuple[pl.Expr, str]] = {
    "cwnd": (pl.col("cwnd_bytes") / 1000, "congestion window, kB"),
    "in_flight": (pl.col("in_flight_bytes") / 1000, "data in flight, kB"),
    "rtt": (pl.col("srtt_ms"), "smoothed round-trip time, ms"),
    "pacing": (pl.col("pacing_rate_mbps"), "pacing rate, Mbit/s"),
    "rate": (pl.col("rate_mbps"), "rate of delivery, Mbit/s"),
    "share": (100 * pl.col("share"), "share of the rate, %"),
    "jain": (pl.col("jain"), "Jain index of the rates"),
}
"""The values of flows: their expressions in a frame of rows or windows, and their labels."""

_SERIES_WIDTH = 0.6
"""The width of a line of a flow, relative to other figures: a window has more detail. Ours."""


def flows(table: pl.DataFrame, axis: Axes, *, show: FlowValue = "cwnd", window_s: float = 1.0, **line: Any) -> Axes:
    """Draw a value of each flow over time; its label is the congestion control.

    Parameters
    ----------
    table
        The table of flows, such as ``result.flows`` of an experiment with ``record.flows = "10 ms"``.
    axis
        The axis to draw on.
    show
        The value: ``"cwnd"`` with the slow-start threshold as a thin line, ``"in_flight"``, ``"rtt"``, ``"pacing"``;
        the ``"rate"`` of delivery and the ``"share"`` of each flow over windows; or the ``"jain"`` index of the rates,
        with a dotted line at the time from which the flows stay fair (:func:`aqmlab.flows.time_to_converge_s`).
    window_s
        The length of the windows in seconds.
    **line
        Properties of every line, as for :meth:`matplotlib.axes.Axes.plot`.

    Raises
    ------
    ValueError
        When there is no such value, or a window is shorter than two periods of the table.
    """
    if show not in _FLOW_COLUMNS:
        raise ValueError(f"show: must be one of {', '.join(get_args(FlowValue))}, got {show!r}")
    value, name = _FLOW_COLUMNS[show]
    axis.set(xlabel="time since the start, s", ylabel=name)
    if show == "jain":
        return _draw_jain(table, axis, window_s, line)
    rows = rates(table, window_s) if show in ("rate", "share") else senders(table)
    if rows.select(value.is_null().all()).item():
        raise ValueError(f"show: the flows must have a {name.partition(',')[0]}, got none")
    styles = _styles(rows["label"].unique().sort(), {"linestyle": "-", **line})
    for label, style in styles.items():
        own = rows.filter(pl.col("label") == label)
        thinner = {"linewidth": _SERIES_WIDTH * style["linewidth"], **normalize_kwargs(dict(line), Line2D)}
        axis.plot(own["time_s"], own.select(value).to_series(), label=label, **{**style, **thinner})
        if show == "cwnd":
            # A threshold far above the window would hide its course.
            threshold = own.filter(pl.col("ssthresh_bytes") <= own["cwnd_bytes"].max())
            thin = {**style, "linewidth": 0.6, "alpha": 0.6, "label": "_threshold"}
            axis.plot(threshold["time_s"], threshold["ssthresh_bytes"] / 1000, **thin)
    axis.set_ylim(bottom=0)
    return _finish(axis)


def _draw_jain(table: pl.DataFrame, axis: Axes, window_s: float, line: Mapping[str, Any]) -> Axes:
    index = jain(table, window_s)
    axis.plot(index["time_s"], index["jain"], label="_index", **_styles([""], line)[""])
    converged = time_to_converge_s(table, window_s)
    if converged is not None:
        start = last_change_s(index, window_s)
        axis.axvline(start + converged, color="#555", linestyle=":", label=f"converged after {converged:.3g} s")
        axis.legend(loc="lower right")
    axis.set_ylim(0, 1.05)
    _use_constrained_layout(axis)
    return axis


def ellipse(points: Mapping[str, pl.DataFrame], axis: Axes) -> Axes:
    """Draw the ellipses of one standard deviation of queueing delay and throughput, with their centres.

    Better is up and to the left (RFC 7928, section 2.7, after Winstein and Balakrishnan, SIGCOMM 2013).

    Parameters
    ----------
    points
        Frames such as ``comparison.delay_and_throughput(direction=1)``.
    axis
        The axis to draw on.
    """
    plot.ellipses(axis, points, _styles(points))
    axis.set(xlabel="queueing delay, ms", ylabel="throughput, Mbit/s")
    return _finish(axis, colour="markerfacecolor")


def xy(curves: Mapping[str, pl.DataFrame], axis: Axes, *, dots: float = 4, **line: Any) -> Axes:
    """Draw one number against another, such as the loss against the load, with intervals if there are any.

    Parameters
    ----------
    curves
        Frames of ``x`` and ``y``; if present, ``low`` and ``high`` are the bounds of an interval of ``y``, and ``left``
        and ``right`` of an interval of ``x``.
    axis
        The axis to draw on.
    dots
        The size of the dot at each point, in points; 0 draws none.
    **line
        Properties of every line, as for :meth:`matplotlib.axes.Axes.plot`.

    Examples
    --------
    >>> import aqmlab as lab
    >>> import polars as pl
    >>> from matplotlib.figure import Figure
    >>> loss = pl.DataFrame({"x": [90, 98], "y": [0.4, 1.3], "low": [0.3, 1.1], "high": [0.5, 1.5]})
    >>> axis = lab.plot.xy({"pi": loss}, Figure().subplots())
    >>> [text.get_text() for text in axis.get_legend().get_texts()]
    ['pi']
    """
    return _finish(plot.xy(axis, curves, _styles(curves, line), dots))


def trace(samples: pl.DataFrame, axis: Axes) -> Axes:
    """Draw one queue over time as an area, and the average of its law as a line.

    Parameters
    ----------
    samples
        A frame of ``time_s`` and ``queue``, and ``average`` if the law has one, in any unit.
    axis
        The axis to draw on.
    """
    plot.trace(axis, samples).set_xlabel("time since the start, s")
    return _finish(axis)


def density(exchanges: pl.DataFrame, axis: Axes, **mesh: Any) -> Axes:
    """Draw the number of requests by response size and response time, up to 100 kB and 14 s.

    Parameters
    ----------
    exchanges
        A frame with a row for each request, such as ``result.exchanges``.
    axis
        The axis to draw on; a colour bar is added to its figure.
    **mesh
        Properties of the mesh, such as ``cmap``, as for :meth:`matplotlib.axes.Axes.pcolormesh`.
    """
    _use_constrained_layout(axis)
    image = plot.density(axis, exchanges.lazy(), **mesh)
    axis.figure.colorbar(image, ax=axis, label=plot.DENSITY)
    return axis


def heatmap(rows: pl.DataFrame, axis: Axes, *, x: str, y: str, value: str, **mesh: Any) -> Axes:
    """Draw a number over two axes of a sweep as colours, with the number in each cell if there are at most 64.

    Parameters
    ----------
    rows
        A frame with a row for each cell, such as the ``means`` of :func:`aqmlab.sweep` for one scheme.
    axis
        The axis to draw on; a colour bar is added to its figure.
    x, y, value
        The names of columns: those of the two axes, and that of the number, which is the label of the colour bar.
    **mesh
        Properties of the mesh, such as ``cmap``, as for :meth:`matplotlib.axes.Axes.pcolormesh`.

    Raises
    ------
    ValueError
        When there is no such column, or several rows belong to one cell.

    Examples
    --------
    >>> import aqmlab as lab
    >>> import polars as pl
    >>> from matplotlib.figure import Figure
    >>> loss = pl.DataFrame({"load, %": [80, 98, 80, 98], "q_ref": [5, 5, 20, 20], "loss, %": [0.2, 1.3, 0.1, 1.1]})
    >>> axis = lab.plot.heatmap(loss, Figure().subplots(), x="load, %", y="q_ref", value="loss, %")
    >>> [text.get_text() for text in axis.texts]
    ['0.2', '1.3', '0.1', '1.1']
    """
    for name, column in {"x": x, "y": y, "value": value}.items():
        if column not in rows.columns:
            raise ValueError(f"{name}: must be one of {', '.join(rows.columns)}, got {column!r}")
    if rows.select(pl.struct(x, y).is_duplicated().any()).item():
        raise ValueError(f"rows: must have one row for each {x} and {y}, got several: select one scheme")
    _use_constrained_layout(axis)
    image = plot.heatmap(axis, rows, x=x, y=y, value=value, **mesh)
    axis.figure.colorbar(image, ax=axis, label=value).outline.set_visible(False)
    return axis


def parts(rows: pl.DataFrame, axis: Axes) -> Axes:
    """Draw the shares of the response time by cause, a bar for all requests and one for each percentile.

    Parameters
    ----------
    rows
        The result of :func:`aqmlab.explanations.by_band`.
    axis
        The axis to draw on; the legend of the parts is at its right.
    """
    shares(axis, rows, size=mpl.rcParams["xtick.labelsize"])
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1)
    _use_constrained_layout(axis)
    return axis


def _styles(labels: Iterable[str], line: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Return the style of each scheme's line: that of all figures, overridden by rcParams and then by the call."""
    labels = list(labels)
    styles = LineStyles(BASELINE)
    styles.share_styles(labels)
    overrides = normalize_kwargs(dict(line or {}), Line2D)
    cycle_styles = cycle(mpl.rcParams["axes.prop_cycle"] if _is_changed("axes.prop_cycle") else [{}])
    width = {"linewidth": mpl.rcParams["lines.linewidth"]} if _is_changed("lines.linewidth") else {}
    return {
        label: {**styles[label], **({} if label == BASELINE else {**width, **next(cycle_styles)}), **overrides}
        for label in labels
    }


def _is_changed(parameter: Any) -> bool:
    return bool(mpl.rcParams[parameter] != mpl.rcParamsDefault[parameter])


def _finish(axis: Axes, *, colour: str = "linecolor") -> Axes:
    """Name the lines, at their ends or in a legend, and give the figure a layout with room for the names."""
    _use_constrained_layout(axis)
    if labels_directly.get():
        format_numbers(axis)
        if label_directly(axis):
            return axis
    return legend_inside(axis, colour=colour)


def _use_constrained_layout(axis: Axes) -> None:
    """Give the figure a constrained layout unless it has one."""
    figure = axis.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
