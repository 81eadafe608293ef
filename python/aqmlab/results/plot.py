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


def _name(label: str, curve: pl.DataFrame) -> str:
    return f"{label}: no requests completed" if curve.is_empty() else label
