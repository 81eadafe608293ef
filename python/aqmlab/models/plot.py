"""Figures of models: the queue of bursts with simulated points, and the cost of a lost packet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from aqmlab.ui import canvas


def exceedance(axis: Axes, curves: Mapping[str, pl.DataFrame], *, simulated: Mapping[str, pl.DataFrame]) -> Axes:
    """Draw the share of time for which a queue is longer than its target, over the utilisation.

    Parameters
    ----------
    axis
        Axis to draw on.
    curves
        Frames of ``utilisation`` and ``above``, the model's share of time, by label.
    simulated
        Points to draw with them, under the same labels: frames of ``utilisation``, ``above``, ``low`` and ``high``;
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
    return canvas.label_lines(axis)


def means(axis: Axes, curves: Mapping[str, pl.DataFrame], *, simulated: Mapping[str, pl.DataFrame]) -> Axes:
    """Draw the mean of a queue over the length of flows.

    Parameters
    ----------
    axis
        Axis to draw on.
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
    return canvas.label_lines(axis)


def costs(
    axis: Axes, tables: Mapping[str, pl.DataFrame], *, others: Mapping[str, pl.DataFrame], bounds: Mapping[str, float]
) -> Axes:
    """Draw the cost of a lost packet over the loss, on logarithmic axes, with the intervals of both.

    Parameters
    ----------
    axis
        Axis to draw on.
    tables
        Frames of ``group``, ``loss_low``, ``loss_high`` (percent), ``cost_low`` and ``cost_high`` (seconds), by scheme.
        Rows of one group are joined by the scheme's line.
    others
        Frames of the same form under the same labels, drawn as hollow points.
    bounds
        Upper bounds of the cost of a lost packet, in seconds, by label.
    """
    styles = _styles({**tables, **others})
    for frames, is_hollow in ((tables, False), (others, True)):
        for label, frame in frames.items():
            _crosses(axis, frame, styles[label], is_hollow=is_hollow)
            if not is_hollow:
                axis.plot([], [], marker="o", label=label, **{**styles[label], "linewidth": 0.9})
    for label, seconds in bounds.items():
        axis.axhline(seconds, color="#888888", linewidth=0.8, zorder=1)
        axis.annotate(label, (0.01, seconds), xycoords=("axes fraction", "data"), va="bottom", fontsize=7)
    axis.set(xscale="log", yscale="log", xlabel="loss, %", ylabel="cost of a lost packet, s")
    return axis


def _crosses(axis: Axes, frame: pl.DataFrame, style: Mapping[str, Any], *, is_hollow: bool) -> None:
    colour = style["color"]
    middles = frame.with_columns(
        loss=(pl.col("loss_low") + pl.col("loss_high")) / 2, cost=(pl.col("cost_low") * pl.col("cost_high")).sqrt()
    )
    for _, rows in middles.group_by("group", maintain_order=True):
        line = rows.sort("loss")
        axis.plot(line["loss"], line["cost"], **{**style, "linewidth": 0.9, "alpha": 0.3 if is_hollow else 0.7})
    x, y = middles["loss"], middles["cost"]
    axis.vlines(x, middles["cost_low"], middles["cost_high"], color=colour, linewidth=0.9)
    axis.hlines(y, middles["loss_low"], middles["loss_high"], color=colour, linewidth=0.9)
    axis.plot(x, y, "o", color=colour, markersize=5, markerfacecolor="white" if is_hollow else colour, zorder=4)


def _styles(curves: Mapping[str, pl.DataFrame]) -> canvas.LineStyles:
    styles = canvas.LineStyles(baseline="")
    styles.share_styles(curves)
    return styles
