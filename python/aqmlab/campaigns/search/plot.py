"""Figures of searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from aqmlab.ui.canvas import PALETTE

if TYPE_CHECKING:
    from aqmlab.campaigns.search.sensitivity import Sensitivity
    from aqmlab.campaigns.search.tuning import TuningResult


def search(figure: Figure, tuned: TuningResult) -> None:
    """Draw a slice for each parameter and objective, and for two objectives also their front."""
    objectives = tuned.objectives
    has_front = len(objectives) == 2
    axes = figure.subplots(len(objectives), len(tuned.space) + has_front, squeeze=False)
    best = {each.found.scheme for each in tuned.best}
    for row, objective in enumerate(objectives):
        for column, (name, span) in enumerate(tuned.space.items()):
            axis = axes[row][column]
            tried = [span.number(each.point[column]) for each in tuned.tried]
            _points(axis, tuned, best, x=tried, y=[each.means[row] for each in tuned.tried])
            axis.axhline(0, color="0.85", zorder=1)
            if span.scale == "log":
                axis.set_xscale("log")
                axis.xaxis.set_minor_formatter(NullFormatter())
                axis.xaxis.set_major_locator(LogLocator(numticks=4))
            axis.set_xlabel(name)
            if column == 0:
                axis.set_ylabel(f"{objective}")
    if has_front:
        _front(axes[0][-1], tuned, best)
        for axis in axes[1:, -1]:
            axis.set_axis_off()


def _points(axis: Axes, tuned: TuningResult, best: set[str], *, x: Sequence[float], y: Sequence[float]) -> None:
    axis.scatter(x, y, s=14, color="0.6", linewidths=0, zorder=2)
    chosen = [place for place, each in enumerate(tuned.tried) if each.scheme in best]
    x_best, y_best = ([values[place] for place in chosen] for values in (x, y))
    axis.scatter(x_best, y_best, s=34, color="tab:red", marker="D", zorder=3)


def _front(axis: Axes, tuned: TuningResult, best: set[str]) -> None:
    one, other = tuned.objectives
    _points(axis, tuned, best, x=[each.means[0] for each in tuned.tried], y=[each.means[1] for each in tuned.tried])
    front = sorted(tuned.front, key=lambda each: each.means[0])
    axis.plot([each.means[0] for each in front], [each.means[1] for each in front], color="tab:red", lw=1)
    axis.set_xlabel(f"{one}")
    axis.set_ylabel(f"{other}")


def sensitivity(figure: Figure, found: Sensitivity) -> None:
    """Draw the sensitivity of each measure to each parameter as bars, the most influential on top.

    For Morris ``mu_star`` in the measure's unit, for Sobol ``S1`` and ``ST``, each with its 95 % interval.
    """
    shown = ["mu_star"] if found.method == "morris" else ["ST", "S1"]
    measures = found.indices["measure"].unique(maintain_order=True).to_list()
    panels = figure.subplots(1, len(measures), squeeze=False)[0]
    for axis, measure in zip(panels, measures, strict=True):
        rows = found.indices.filter(measure=measure)
        places = -np.arange(len(rows), dtype=float)
        height = 0.7 / len(shown)
        for number, name in enumerate(shown):
            at = places + 0.35 - height * (number + 0.5)
            axis.barh(at, rows[name], height, color=PALETTE[number], alpha=0.75, label=name)
            axis.errorbar(rows[name], at, xerr=rows[f"{name}_half"], fmt="none", ecolor="black", capsize=3, lw=1)
        axis.set_yticks(places, rows["parameter"])
        axis.set_title(measure, loc="left", fontsize=10)
        axis.set_xlabel(f"mu_star, {rows['unit'][0]}" if found.method == "morris" else "share of the variance")
        axis.grid(visible=False, axis="y")
        # A small index may be estimated below 0, and intervals extend below it.
        axis.axvline(0, color="black", linewidth=0.8)
    if len(shown) > 1:
        panels[-1].legend(loc="lower right")
