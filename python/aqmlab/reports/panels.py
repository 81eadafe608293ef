"""Selections side by side: the experiments of a comparison along the axis in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import polars as pl

from aqmlab._core import SpecError
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.reports.charts import Chart, charts, response_times
from aqmlab.reports.selection import Selection
from aqmlab.reports.vega import VegaBuilder
from aqmlab.results import grouping
from aqmlab.results.cells import BASELINE
from aqmlab.results.figures.charts import Axis, Lines
from aqmlab.store.result import Result

_AXES = {
    "load_percent": ("load", "%"),
    "users_per_side": ("users per side", ""),
    "rate_mbps": ("rate", "Mbit/s"),
    "delay_ms": ("delay of the link", "ms"),
    "device_fifo_packets": ("device FIFO", "packets"),
    "duration_s": ("duration", "s"),
    "rtt": ("RTT", ""),
    "congestion": ("congestion control", ""),
    "tcp": ("TCP", ""),
    "traffic": ("traffic", ""),
    "testbed": ("testbed", ""),
    "experiment": ("experiment", ""),
}
"""Columns that may be an axis, with their quantity and unit, the most telling first."""

_NUMBERS = ("p50", "p90", "p99", "loss", "throughput", "utilisation")
_MAX_PANELS = 12


@dataclass(frozen=True)
class Panel:
    """The cells of one experiment."""

    title: str
    """The place on the axis; empty for a single panel."""
    value: Any
    selection: Selection

    @property
    def query(self) -> str:
        """The cells as the query of an address."""
        return urlencode([("cell", result.location.name) for result in self.selection.valid])


@dataclass(frozen=True)
class Panels:
    """The experiments of a comparison, in the order of their axis."""

    panels: Sequence[Panel]
    axis: str
    """The title of the axis; empty for a single panel."""

    def charts(self) -> tuple[list[Chart], VegaBuilder]:
        """Return the figures, and the styles that their schemes share."""
        vega = VegaBuilder(list(dict.fromkeys(label for panel in self.panels for label in panel.selection.by_label)))
        if len(self.panels) == 1:
            return charts(self.panels[0].selection, vega), vega
        multiples = [response_times(panel.selection, vega, panel.title) for panel in self.panels]
        return [chart for chart in (self._over_axis(vega), *multiples) if chart is not None], vega

    def _over_axis(self, vega: VegaBuilder) -> Chart | None:
        """Return the figure of numbers over a numeric axis."""
        if not all(isinstance(panel.value, (int, float)) for panel in self.panels):
            return None
        frames: dict[str, list[pl.DataFrame]] = {}
        for panel in self.panels:
            for name in _NUMBERS:
                for label, interval in panel.selection.comparison.intervals(name).items():
                    if label != BASELINE:
                        place = interval.with_columns(at=pl.lit(float(panel.value)), number=pl.lit(name))
                        frames.setdefault(label, []).append(place)
        x = Axis("at", self.axis)
        views = {
            NUMBERS[name].heading: vega.lines(
                Lines(x, Axis("mean", NUMBERS[name].heading)), band=True, where=f"datum.number === '{name}'"
            )
            for name in _NUMBERS
        }
        caption = "Means over the seeds; bands are their 95 % confidence intervals (Student's t)."
        rows = vega.rows({label: pl.concat(parts) for label, parts in frames.items()})
        title = f"Numbers over the {self.axis.partition(',')[0]}"
        return None if rows.is_empty() else Chart("axis", title, caption, rows, views)


def panels(results: Sequence[Result]) -> Panels:
    """Group results by experiment along the first axis in which all experiments differ.

    Raises
    ------
    SpecError
        When there are too many experiments, or no valid result.
    """
    by_experiment: dict[str, list[Result]] = {}
    for result in results:
        by_experiment.setdefault(result.cell.row["experiment"], []).append(result)
    if len(by_experiment) > _MAX_PANELS:
        raise SpecError(f"cells: must be of at most {_MAX_PANELS} experiments, got {len(by_experiment)}")
    groups = [(_setting(group), _selection(group)) for group in by_experiment.values()]
    groups = [(setting, selection) for setting, selection in groups if selection.valid]
    if not groups:
        raise SpecError(" ".join(grouping.invalid_note(results)))
    if len(groups) == 1:
        return Panels([Panel("", None, groups[0][1])], "")
    column = next(name for name in _AXES if len({setting.get(name) for setting, _ in groups}) == len(groups))
    groups.sort(key=lambda group: (str(type(group[0][column])), group[0][column]))
    quantity, unit = _AXES[column]
    return Panels(
        [
            Panel(f"{quantity} {_text(setting[column])} {unit}".rstrip(), setting[column], selection)
            for setting, selection in groups
        ],
        f"{quantity}, {unit}".rstrip(", "),
    )


def _setting(results: Sequence[Result]) -> dict[str, Any]:
    """Return the columns of an experiment; the uncongested network has a link of its own."""
    return next((result.cell.row for result in results if result.cell.label != BASELINE), results[0].cell.row)


def _selection(results: Sequence[Result]) -> Selection:
    valid, invalid = grouping.split_valid(results)
    return Selection(grouping.by_scheme(valid), invalid)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
