"""Selections side by side: the experiments of a comparison along the axis, or the two axes, in which they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
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
_MAX_PANELS, _MAX_GRID = 12, 64
"""The largest numbers of experiments along one axis, and along two."""


@dataclass(frozen=True)
class Panel:
    """The cells of one experiment."""

    title: str
    """The place on the axes; empty for a single panel."""
    values: tuple[Any, ...]
    """The values on the axes."""
    selection: Selection

    @property
    def query(self) -> str:
        """The cells as the query of an address."""
        return urlencode([("cell", result.location.name) for result in self.selection.valid])


@dataclass(frozen=True)
class Panels:
    """The experiments of a comparison, in the order of their axis."""

    panels: Sequence[Panel]
    axes: tuple[str, ...]
    """The titles of one or two axes; none for a single panel."""

    def charts(self) -> tuple[list[Chart], VegaBuilder]:
        """Return the figures, and the styles that their schemes share."""
        vega = VegaBuilder(list(dict.fromkeys(label for panel in self.panels for label in panel.selection.by_label)))
        if len(self.panels) == 1:
            return charts(self.panels[0].selection, vega), vega
        if len(self.axes) == 2:
            return list(self._over_two_axes(vega)), vega
        multiples = [response_times(panel.selection, vega, panel.title) for panel in self.panels]
        return [chart for chart in (self._over_axis(vega), *multiples) if chart is not None], vega

    def _over_axis(self, vega: VegaBuilder) -> Chart | None:
        """Return the figure of numbers over a numeric axis."""
        if not all(isinstance(panel.values[0], (int, float)) for panel in self.panels):
            return None
        frames = self._means(lambda panel: {"at": float(panel.values[0])})
        (title,) = self.axes
        x = Axis("at", title)
        views = {
            NUMBERS[name].heading: vega.lines(
                Lines(x, Axis("mean", NUMBERS[name].heading)), band=True, where=f"datum.number === '{name}'"
            )
            for name in _NUMBERS
        }
        caption = "Means over the seeds; bands are their 95 % confidence intervals (Student's t)."
        rows = vega.rows(frames)
        return None if rows.is_empty() else Chart("axis", f"Numbers over the {_quantity(title)}", caption, rows, views)

    def _over_two_axes(self, vega: VegaBuilder) -> Iterator[Chart]:
        """Yield a figure for each number: a heat map for each scheme, with the same colours."""
        x, y = self.axes
        frames = self._means(lambda panel: {"x": _text(panel.values[0]), "y": _text(panel.values[1])})
        xs, ys = (list(dict.fromkeys(map(_text, self._along(index)))) for index in (0, 1))
        for name in _NUMBERS:
            rows = vega.rows({label: frame.filter(number=name) for label, frame in frames.items()})
            if rows.is_empty() or not rows["mean"].abs().sum():
                continue
            heading = NUMBERS[name].heading
            view = vega.heat_maps((x, xs), (y, ys), Axis("mean", heading), rows["mean"].to_list())
            title = f"{heading[0].upper()}{heading[1:]}, over {_quantity(x)} and {_quantity(y)}"
            yield Chart(f"grid-{name}", title, _HEAT_CAPTION, rows, {"": view}, has_lines=False)

    def _along(self, index: int) -> list[Any]:
        return sorted({panel.values[index] for panel in self.panels}, key=_order)

    def _means(self, place: Callable[[Panel], dict[str, Any]]) -> dict[str, pl.DataFrame]:
        """Return the means of all numbers with the place of their panel, by scheme."""
        frames: dict[str, list[pl.DataFrame]] = {}
        for panel in self.panels:
            columns = {name: pl.lit(value) for name, value in place(panel).items()}
            for name in _NUMBERS:
                for label, interval in panel.selection.comparison.intervals(name).items():
                    if label != BASELINE:
                        frames.setdefault(label, []).append(interval.with_columns(**columns, number=pl.lit(name)))
        return {label: pl.concat(parts) for label, parts in frames.items()}


_HEAT_CAPTION = "Means over the seeds, one map for each scheme, all with the same colours. Darker is more."


def panels(results: Sequence[Result]) -> Panels:
    """Group results by experiment along the first axis, or the first two, by which all experiments differ.

    Raises
    ------
    SpecError
        When there are too many experiments, or no valid result.
    """
    by_experiment: dict[str, list[Result]] = {}
    for result in results:
        by_experiment.setdefault(result.cell.row["experiment"], []).append(result)
    groups = [(_setting(group), _selection(group)) for group in by_experiment.values()]
    groups = [(setting, selection) for setting, selection in groups if selection.valid]
    if not groups:
        raise SpecError(" ".join(grouping.invalid_note(results)))
    if len(groups) == 1:
        return Panels([Panel("", (), groups[0][1])], ())
    columns = _axes([setting for setting, _ in groups])
    most = _MAX_GRID if len(columns) == 2 else _MAX_PANELS
    if len(by_experiment) > most:
        raise SpecError(f"cells: must be of at most {most} experiments, got {len(by_experiment)}")
    groups.sort(key=lambda group: [_order(group[0][column]) for column in columns])
    return Panels(
        [
            Panel(_title(setting, columns), tuple(setting[column] for column in columns), selection)
            for setting, selection in groups
        ],
        tuple(", ".join(filter(None, _AXES[column])) for column in columns),
    )


def _axes(settings: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Return the first column that tells all settings apart, or else the first two that do together."""
    last = "experiment"
    varying = [name for name in _AXES if name != last and len({setting.get(name) for setting in settings}) > 1]
    candidates: list[tuple[str, ...]] = [(name,) for name in varying]
    candidates += combinations(varying, 2)
    for columns in candidates:
        if len({tuple(setting.get(name) for name in columns) for setting in settings}) == len(settings):
            return columns
    return (last,)


def _title(setting: dict[str, Any], columns: Sequence[str]) -> str:
    """Return the place of a setting on the axes."""
    places = [(_AXES[column], _text(setting[column])) for column in columns]
    return ", ".join(f"{quantity} {value} {unit}".rstrip() for (quantity, unit), value in places)


def _quantity(title: str) -> str:
    """Return the quantity of an axis's title, without its unit."""
    return title.partition(",")[0]


def _order(value: Any) -> tuple[str, Any]:
    """Return the key of an order of numbers and texts."""
    return str(type(value)), value


def _setting(results: Sequence[Result]) -> dict[str, Any]:
    """Return the columns of an experiment; the uncongested network has a link of its own."""
    return next((result.cell.row for result in results if result.cell.label != BASELINE), results[0].cell.row)


def _selection(results: Sequence[Result]) -> Selection:
    valid, invalid = grouping.split_valid(results)
    return Selection(grouping.by_scheme(valid), invalid)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
