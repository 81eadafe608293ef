"""Figures of results: response times by scheme, queues over time, delay against throughput."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm
from matplotlib.patches import Ellipse as Outline

from aqmlab.stats.ellipse import Ellipse
from aqmlab.ui import canvas

Styles = canvas.LineStyles | Mapping[str, Mapping[str, Any]]
"""The style of each scheme's lines, by label."""

DENSITY = "requests in a cell of 500 B and 40 ms"
"""The label of a density's colour bar."""

_BAND: Mapping[str, Any] = {"alpha": 0.15, "linewidth": 0}
"""The style of a line's band, in the line's colour."""

_LARGEST_KB, _LONGEST_S = 100, 14
"""The bounds of a density, those of the scatter plots of Le et al. (2004)."""


def response_time_cdf(axis: Axes, curves: Mapping[str, pl.DataFrame], styles: Styles) -> Axes:
    """Draw the share of requests answered within a time, up to 2 s as in the papers.

    Parameters
    ----------
    axis
        The axis to draw on.
    curves
        Frames of ``time_ms`` and ``fraction`` by label; ``low`` and ``high`` are the bounds of a band.
    styles
        The styles of lines by label.
    """
    for label, curve in curves.items():
        axis.plot(curve["time_ms"], 100 * curve["fraction"], label=_name(label, curve), **styles[label])
        if "low" in curve.columns:
            colour = styles[label]["color"]
            axis.fill_between(curve["time_ms"], 100 * curve["low"], 100 * curve["high"], color=colour, **_BAND)
    axis.set(xlim=(0, 2000), ylim=(0, 100), xlabel="response time, ms", ylabel="requests answered within it, %")
    return canvas.name_from_top(axis)


def response_time_ccdf(axis: Axes, curves: Mapping[str, pl.DataFrame], styles: Styles) -> Axes:
    """Draw the tail, the share of requests that take longer than a time, on logarithmic axes.

    The parameters are those of :func:`response_time_cdf`.
    """
    for label, curve in curves.items():
        axis.plot(curve["time_ms"], 100 * (1 - curve["fraction"]), label=_name(label, curve), **styles[label])
    axis.set(xscale="log", yscale="log", xlim=(10, 100_000), ylim=(0.001, 100))
    axis.set(xlabel="response time, ms", ylabel="requests that take longer, %")
    return canvas.name_from_top(axis)


def response_time_difference(axis: Axes, bands: Mapping[str, pl.DataFrame], styles: Styles, to: str) -> Axes:
    """Draw the differences of distributions of response times from that of another scheme, each with its band.

    Parameters
    ----------
    axis
        The axis to draw on.
    bands
        The results of :func:`aqmlab.stats.difference_band`, by label.
    styles
        The styles of lines by label.
    to
        The label of the other scheme, which is drawn at 0.
    """
    times = [time for band in bands.values() for time in band["time_ms"]]
    axis.plot([min(times, default=1), max(times, default=1)], [0, 0], label=to, **styles[to])
    for label, band in bands.items():
        axis.plot(band["time_ms"], 100 * band["difference"], label=_name(label, band), **styles[label])
        colour = styles[label]["color"]
        axis.fill_between(band["time_ms"], 100 * band["low"], 100 * band["high"], color=colour, **_BAND)
    axis.set(xscale="log", xlabel="response time, ms", ylabel="more requests answered within it, % of all")
    # A band over few seeds may exceed the largest possible difference.
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, -100), min(high, 100))
    return canvas.name_from_top(axis)


def bars(axis: Axes, intervals: Mapping[str, pl.DataFrame], styles: Styles, **bar: Any) -> Axes:
    """Draw a bar for each scheme from top to bottom, with a line for its interval if there is one.

    Parameters
    ----------
    axis
        The axis to draw on.
    intervals
        The results of :func:`aqmlab.stats.interval`, by label.
    styles
        The styles by label; the bars have their colours.
    **bar
        Properties of every bar, as for :meth:`matplotlib.axes.Axes.barh`.
    """
    for place, (label, interval) in enumerate(intervals.items()):
        for mean, low, high in interval.iter_rows():
            look = {"height": 0.7, "color": styles[label]["color"], "alpha": 0.85, **bar}
            axis.barh(place, mean, label=label, **look)
            if low is not None:
                axis.plot([low, high], [place, place], color="#222", linewidth=1.5)
    axis.set_yticks(range(len(intervals)), list(intervals))
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    return axis


def slowdowns(axis: Axes, curves: Mapping[str, pl.DataFrame], styles: Styles, quantile: str) -> Axes:
    """Draw slowdowns, relative to the uncongested network, by the size of the response.

    Parameters
    ----------
    axis
        The axis to draw on.
    curves
        The results of :func:`aqmlab.results.measures.slowdown.by_size`, by label.
    styles
        The styles of lines by label.
    quantile
        ``p50``, ``p90`` or ``p99``.
    """
    for label, curve in curves.items():
        axis.plot(curve["bytes"], curve[quantile], label=_name(label, curve), **styles[label])
    axis.set(xscale="log", yscale="log", xlabel="size of the response, bytes", ylabel=f"slowdown, {quantile}")
    return canvas.name_from_top(axis)


def delay_over_time(axis: Axes, curves: Mapping[str, pl.DataFrame], styles: Styles) -> Axes:
    """Draw the mean queueing delay over time, with a band from the minimum to the maximum.

    Parameters
    ----------
    axis
        The axis to draw on.
    curves
        Frames of ``time_s``, ``delay_ms_low``, ``delay_ms_mean`` and ``delay_ms_high`` by label.
    styles
        The styles of lines by label.
    """
    for label, curve in curves.items():
        band = (curve["delay_ms_low"], curve["delay_ms_high"])
        colour = styles[label]["color"]
        axis.fill_between(curve["time_s"], *band, color=colour, alpha=0.25, linewidth=0, rasterized=True)
        axis.plot(curve["time_s"], curve["delay_ms_mean"], label=label, **styles[label])
    return axis


def ellipses(axis: Axes, points: Mapping[str, pl.DataFrame], styles: Styles) -> Axes:
    """Draw the ellipses of one standard deviation of delay and throughput, with their centres.

    Parameters
    ----------
    axis
        The axis to draw on.
    points
        Frames of ``delay_ms`` and ``throughput_mbps`` by label, with at least two rows.
    styles
        The styles by label; the ellipses have their colours.
    """
    for label, frame in points.items():
        fit = Ellipse.of(frame["delay_ms"], frame["throughput_mbps"])
        place: Any = {"xy": (fit.x, fit.y), "width": 2 * fit.major, "height": 2 * fit.minor, "angle": fit.angle_deg}
        colour = styles[label]["color"]
        axis.add_patch(Outline(**place, facecolor=colour, alpha=0.15, linewidth=0))
        axis.add_patch(Outline(**place, fill=False, edgecolor=colour, linewidth=1.2))
        axis.plot([fit.x], [fit.y], "o", color=colour, markersize=3.5, label=label)
    axis.autoscale_view()
    axis.set_xlim(left=0)
    return axis


def against(axis: Axes, curves: Mapping[str, pl.DataFrame], styles: Styles, dots: float = 0) -> Axes:
    """Draw one number against another, with intervals if there are any.

    Parameters
    ----------
    axis
        The axis to draw on.
    curves
        Frames of ``x`` and ``y`` by label; ``low`` and ``high`` are the bounds of an interval of ``y``, ``left`` and
        ``right`` of an interval of ``x``.
    styles
        The styles of lines by label; the ``linestyle`` ``"none"`` draws only dots.
    dots
        The size of the dots in points; by default there are none.
    """
    marker: Mapping[str, Any] = {"marker": "o", "markersize": dots} if dots else {}
    for label, curve in curves.items():
        axis.plot(curve["x"], curve["y"], label=label, **{**styles[label], **marker})
        interval: Mapping[str, Any] = {"color": styles[label]["color"], "linewidth": 0.9, "alpha": 0.7}
        if "low" in curve.columns:
            axis.vlines(curve["x"], curve["low"], curve["high"], **interval)
        if "left" in curve.columns:
            axis.hlines(curve["y"], curve["left"], curve["right"], **interval)
    return axis


def trace(axis: Axes, samples: pl.DataFrame) -> Axes:
    """Draw one queue over time as an area, and the average of its law as a line.

    Parameters
    ----------
    axis
        The axis to draw on.
    samples
        A frame of ``time_s`` and ``queue``, and ``average`` if the law has one.
    """
    time, queue = samples["time_s"], samples["queue"]
    axis.fill_between(time, queue, color=canvas.PALETTE[0], linewidth=0, alpha=0.35, step="post", rasterized=True)
    axis.plot(time, queue, color=canvas.PALETTE[0], linewidth=0.6, label="queue", rasterized=True)
    if "average" in samples.columns:
        axis.plot(time, samples["average"], color=canvas.PALETTE[1], linewidth=1.4, label="its average")
    return axis


def density(axis: Axes, exchanges: pl.LazyFrame, **mesh: Any) -> QuadMesh:
    """Draw the number of requests by response size and response time, up to 100 kB and 14 s.

    Parameters
    ----------
    axis
        The axis to draw on.
    exchanges
        The table ``exchanges``, with a row for each request.
    **mesh
        Properties of the mesh, as for :meth:`matplotlib.axes.Axes.pcolormesh`.

    Returns
    -------
    matplotlib.collections.QuadMesh
        The image, for a colour bar.
    """
    shown = (
        exchanges.select(kb=pl.col("response_bytes") / 1000, s=pl.col("response_time_ms") / 1000)
        .filter((pl.col("kb") < _LARGEST_KB) & (pl.col("s") < _LONGEST_S))
        .collect()
    )
    edges = np.linspace(0, _LARGEST_KB, 201), np.linspace(0, _LONGEST_S, 351)
    count, *_ = np.histogram2d(shown["kb"], shown["s"], bins=edges)
    look = {"norm": LogNorm(1, 10_000), "cmap": "viridis", "rasterized": True, **mesh}
    image = axis.pcolormesh(*edges, np.ma.masked_equal(count.T, 0), **look)
    axis.set(xlabel="response size, kB", xlim=(0, _LARGEST_KB))
    axis.set(ylabel="response time, s", ylim=(0, _LONGEST_S), yticks=range(_LONGEST_S + 1))
    return image


def _name(label: str, curve: pl.DataFrame) -> str:
    return f"{label}: no requests completed" if curve.is_empty() else label
