"""The queue of bursts as figures: its model, and simulated points beside it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from matplotlib.axes import Axes

from aqmlab.show import canvas


def exceedance(axis: Axes, curves: Mapping[str, pl.DataFrame], *, simulated: Mapping[str, pl.DataFrame]) -> Axes:
    """Draw the share of time for which a queue is longer than its target, over the utilisation.

    Parameters
    ----------
    axis
        Where to draw.
    curves
        Frames of ``utilisation`` and ``above``, the model's share of time, by label.
    simulated
        Points to draw beside them, under the same labels: frames of ``utilisation``, ``above``, ``low`` and ``high``;
        none where it is empty.
    """
    styles = _styles(curves)
    for label, curve in curves.items():
        axis.plot(100 * curve["utilisation"], 100 * curve["above"], label=label, **styles[label])
        if label in simulated:
            points, colour = simulated[label], styles[label]["color"]
            x = (100 * points["utilisation"]).to_numpy()
            axis.scatter(x, 100 * points["above"], s=16, color=colour, zorder=3)
            axis.vlines(x, 100 * points["low"], 100 * points["high"], color=colour, linewidth=0.8)
    if simulated:
        axis.set_title("dots: simulated, 95 % intervals", loc="right", fontsize=9)
    axis.set(xlabel="utilisation, %", ylabel="time above the target, %", xlim=(None, 100), ylim=(0, 100))
    return canvas.name_from_top(axis)


def means(axis: Axes, curves: Mapping[str, pl.DataFrame], *, simulated: Mapping[str, pl.DataFrame]) -> Axes:
    """Draw the mean of a queue over the length of flows.

    Parameters
    ----------
    axis
        Where to draw.
    curves
        Frames of ``flow_packets`` and ``mean``, a model's, by label.
    simulated
        Frames of ``flow_packets``, ``mean``, ``low`` and ``high`` by label: points with their intervals.
    """
    styles = _styles(curves)
    for label, curve in curves.items():
        axis.plot(curve["flow_packets"], curve["mean"], label=label, **styles[label])
    for label, points in simulated.items():
        x = points["flow_packets"].to_numpy()
        axis.plot(x, points["mean"], "o", markersize=4, color="black", label=label)
        axis.vlines(x, points["low"], points["high"], color="black", linewidth=0.8)
    axis.set(xlabel="packets of a flow", ylabel="mean queue, packets", xlim=(0, None), ylim=(0, None))
    return canvas.name_from_top(axis)


def _styles(curves: Mapping[str, pl.DataFrame]) -> canvas.LineStyles:
    styles = canvas.LineStyles(baseline="")
    styles.together(curves)
    return styles
