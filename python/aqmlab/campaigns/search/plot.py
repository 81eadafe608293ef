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
    best = {candidate.found.scheme for candidate in tuned.best}
    for row, objective in enumerate(objectives):
        for column, (name, span) in enumerate(tuned.space.items()):
            axis = axes[row][column]
            settings = [span.number_at(candidate.point[column]) for candidate in tuned.candidates]
            _points(axis, tuned, best, x=settings, y=[candidate.means[row] for candidate in tuned.candidates])
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
    indices = [index for index, candidate in enumerate(tuned.candidates) if candidate.scheme in best]
    x_best, y_best = ([values[index] for index in indices] for values in (x, y))
    axis.scatter(x_best, y_best, s=34, color="tab:red", marker="D", zorder=3)


def _front(axis: Axes, tuned: TuningResult, best: set[str]) -> None:
    x_objective, y_objective = tuned.objectives
    _points(
        axis,
        tuned,
        best,
        x=[candidate.means[0] for candidate in tuned.candidates],
        y=[candidate.means[1] for candidate in tuned.candidates],
    )
    front = sorted(tuned.front, key=lambda candidate: candidate.means[0])
    axis.plot(
        [candidate.means[0] for candidate in front], [candidate.means[1] for candidate in front], color="tab:red", lw=1
    )
    axis.set_xlabel(f"{x_objective}")
    axis.set_ylabel(f"{y_objective}")


def sensitivity(figure: Figure, result: Sensitivity) -> None:
    """Draw the sensitivity of each measure to each parameter as bars, the most influential on top.

    For Morris ``mu_star`` in the measure's unit, for Sobol ``S1`` and ``ST``, each with its 95 % interval.
    """
    columns = ["mu_star"] if result.method == "morris" else ["ST", "S1"]
    measures = result.indices["measure"].unique(maintain_order=True).to_list()
    panels = figure.subplots(1, len(measures), squeeze=False)[0]
    for axis, measure in zip(panels, measures, strict=True):
        rows = result.indices.filter(measure=measure)
        positions = -np.arange(len(rows), dtype=float)
        height = 0.7 / len(columns)
        for number, name in enumerate(columns):
            offsets = positions + 0.35 - height * (number + 0.5)
            axis.barh(offsets, rows[name], height, color=PALETTE[number], alpha=0.75, label=name)
            axis.errorbar(rows[name], offsets, xerr=rows[f"{name}_half"], fmt="none", ecolor="black", capsize=3, lw=1)
        axis.set_yticks(positions, rows["parameter"])
        axis.set_title(measure, loc="left", fontsize=10)
        axis.set_xlabel(f"mu_star, {rows['unit'][0]}" if result.method == "morris" else "share of the variance")
        axis.grid(visible=False, axis="y")
        # A small index may be estimated below 0, and intervals extend below it.
        axis.axvline(0, color="black", linewidth=0.8)
    if len(columns) > 1:
        panels[-1].legend(loc="lower right")
