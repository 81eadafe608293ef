"""Response times as figures: distributions by scheme, and their tails."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from matplotlib.axes import Axes

from aqmlab.show import canvas


def response_time_cdf(axis: Axes, curves: Mapping[str, pl.DataFrame], styles: canvas.LineStyles) -> Axes:
    """Draw the share of requests answered within a time, up to 2 s as in the papers.

    Parameters
    ----------
    axis
        Where to draw.
    curves
        Frames of ``time_ms`` and ``fraction`` by label.
    styles
        Of their lines, by label.
    """
    for label, curve in curves.items():
        axis.plot(curve["time_ms"], 100 * curve["fraction"], label=_name(label, curve), **styles[label])
    axis.set(xlim=(0, 2000), ylim=(0, 100), xlabel="response time, ms", ylabel="requests answered within it, %")
    return canvas.name_from_top(axis)


def response_time_ccdf(axis: Axes, curves: Mapping[str, pl.DataFrame], styles: canvas.LineStyles) -> Axes:
    """Draw the share of requests that take longer than a time, on logarithmic axes: the tail.

    The parameters are those of :func:`response_time_cdf`.
    """
    for label, curve in curves.items():
        axis.plot(curve["time_ms"], 100 * (1 - curve["fraction"]), label=_name(label, curve), **styles[label])
    axis.set(xscale="log", yscale="log", xlim=(10, 100_000), ylim=(0.001, 100))
    axis.set(xlabel="response time, ms", ylabel="requests that take longer, %")
    return canvas.name_from_top(axis)


def response_time_difference(axis: Axes, bands: Mapping[str, pl.DataFrame], styles: canvas.LineStyles, to: str) -> Axes:
    """Draw how many more requests are answered within a time than under another scheme, each with its band.

    Parameters
    ----------
    axis
        Where to draw.
    bands
        What :func:`aqmlab.results.stats.difference_band` gives, by label.
    styles
        Of their lines, by label.
    to
        The label of the scheme that they are compared with, which lies at nought.
    """
    times = [time for band in bands.values() for time in band["time_ms"]]
    axis.plot([min(times, default=1), max(times, default=1)], [0, 0], label=to, **styles[to])
    for label, band in bands.items():
        axis.plot(band["time_ms"], 100 * band["difference"], label=_name(label, band), **styles[label])
        colour = styles[label]["color"]
        axis.fill_between(band["time_ms"], 100 * band["low"], 100 * band["high"], color=colour, alpha=0.15, linewidth=0)
    axis.set(xscale="log", xlabel="response time, ms", ylabel="more requests answered within it, % of all")
    # A band over few seeds may be wider than any difference can be.
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, -100), min(high, 100))
    return canvas.name_from_top(axis)


def bars(axis: Axes, intervals: Mapping[str, pl.DataFrame], styles: canvas.LineStyles) -> Axes:
    """Draw a bar for each scheme from top to bottom, with a line over its interval where there is one.

    Parameters
    ----------
    axis
        Where to draw.
    intervals
        What :func:`aqmlab.results.stats.interval` gives, by label.
    styles
        Of their lines, by label: the bars have their colours.
    """
    for place, (label, interval) in enumerate(intervals.items()):
        for mean, low, high in interval.iter_rows():
            axis.barh(place, mean, height=0.7, color=styles[label]["color"], alpha=0.85, label=label)
            if low is not None:
                axis.plot([low, high], [place, place], color="#222", linewidth=1.5)
    axis.set_yticks(range(len(intervals)), list(intervals))
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    return axis


def _name(label: str, curve: pl.DataFrame) -> str:
    return f"{label}: no requests completed" if curve.is_empty() else label
