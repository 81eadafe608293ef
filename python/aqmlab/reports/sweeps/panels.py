"""Selections side by side: the experiments of a comparison along the axes in which they differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import floor, log10
from typing import Any
from urllib.parse import urlencode

import polars as pl

from aqmlab._core import SpecError
from aqmlab.cells.differences import differences, value_text, without_scheme
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.reports.charts import Chart, charts, delay_over_time, response_times
from aqmlab.reports.selection import Selection
from aqmlab.reports.sweeps import parallel
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
}
"""Columns that may be an axis, with their quantity and unit, the most telling first."""

_DIGEST = "experiment"
"""The column that tells experiments apart of which nothing else is known."""

_NUMBERS = ("p50", "p90", "p99", "loss", "throughput", "utilisation")
_MAX_PANELS, _MAX_GRID = 12, 64
"""The largest numbers of experiments along one axis, and along several."""


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
    """The titles of the axes; none for a single panel."""

    def charts(self) -> tuple[list[Chart], VegaBuilder]:
        """Return the figures, and the styles that their schemes share."""
        vega = VegaBuilder(list(dict.fromkeys(label for panel in self.panels for label in panel.selection.by_label)))
        if len(self.panels) == 1:
            return charts(self.panels[0].selection, vega), vega
        multiples = (response_times, delay_over_time) if len(self.panels) <= _MAX_PANELS else ()
        figures = [
            self._over_axis(vega),
            *self._over_two_axes(vega),
            self._parallel(vega),
            *(self._multiples(draw, vega) for draw in multiples),
        ]
        return [chart for chart in figures if chart is not None], vega

    def _multiples(self, draw: Callable[[Selection, VegaBuilder], Chart | None], vega: VegaBuilder) -> Chart | None:
        """Return one figure with a small one for each experiment, all on the same axes."""
        drawn = {panel.title: chart for panel in self.panels if (chart := draw(panel.selection, vega))}
        if not drawn:
            return None
        first = next(iter(drawn.values()))
        frames = [chart.rows.with_columns(panel=pl.lit(title)) for title, chart in drawn.items()]
        rows = pl.concat(frames, how="diagonal_relaxed")
        views = {name: vega.multiples(view, list(drawn), rows) for name, view in first.views.items()}
        title = f"{first.title}, by {' and '.join(map(_quantity, self.axes))}"
        return replace(
            first,
            name=f"{first.name}-multiples",
            title=title,
            rows=rows,
            views=views,
            is_wide=True,
        )

    def _parallel(self, vega: VegaBuilder) -> Chart | None:
        """Return the figure of parallel coordinates: the axes, then the numbers."""
        settings = {f"axis {index}": title for index, title in enumerate(self.axes)}
        means = self._means(lambda panel: dict(zip(settings, panel.values, strict=True)))
        if not means:
            return None
        frames = [frame.select(*settings, "number", "mean", label=pl.lit(label)) for label, frame in means.items()]
        points = pl.concat(frames).pivot("number", index=["label", *settings], values="mean")
        numbers = {name: NUMBERS[name].heading for name in _NUMBERS if name in points.columns}
        return parallel.chart(points, {**settings, **numbers}, len(settings), vega)

    def _over_axis(self, vega: VegaBuilder) -> Chart | None:
        """Return the figure of numbers over a single numeric axis."""
        if len(self.axes) != 1 or not all(isinstance(panel.values[0], (int, float)) for panel in self.panels):
            return None
        frames = self._means(lambda panel: {"at": float(panel.values[0])})
        (title,) = self.axes
        headings = {name: NUMBERS[name].heading for name in _NUMBERS}
        caption = "Means over the seeds; bands are their 95 % confidence intervals (Student's t)."
        rows = vega.rows(frames)
        if rows.is_empty():
            return None
        measured = sorted(rows["at"].unique())
        view = vega.measured(Lines(Axis("at", title), Axis("mean", "mean")), measured)
        rows = rows.with_columns(panel=pl.col("number").replace(headings))
        views = {"": vega.multiples(view, list(headings.values()), rows, share_y=False)}
        return Chart("axis", f"Numbers over the {_quantity(title)}", caption, rows, views, is_wide=True)

    def _over_two_axes(self, vega: VegaBuilder) -> Iterator[Chart]:
        """Yield a figure for each number: a heat map for each scheme, with the same colours."""
        if len(self.axes) != 2:
            return
        x, y = self.axes
        x_texts, y_texts = (_texts(self._along(index)) for index in (0, 1))
        frames = self._means(lambda panel: {"x": x_texts[panel.values[0]], "y": y_texts[panel.values[1]]})
        xs, ys = list(x_texts.values()), list(y_texts.values())
        for name in _NUMBERS:
            rows = vega.rows({label: frame.filter(number=name) for label, frame in frames.items()})
            if rows.is_empty() or not rows["mean"].abs().sum():
                continue
            heading = NUMBERS[name].heading
            view = vega.heat_maps((x, xs), (y, ys), Axis("mean", heading), rows["mean"].to_list())
            title = f"{heading[0].upper()}{heading[1:]}, over {_quantity(x)} and {_quantity(y)}"
            yield Chart(f"grid-{name}", title, _HEAT_CAPTION, rows, {"": view}, has_lines=False)

    def _along(self, index: int) -> list[Any]:
        return sorted({panel.values[index] for panel in self.panels}, key=parallel.order)

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
    """Group results by experiment along the fewest axes by which all experiments differ.

    Raises
    ------
    SpecError
        When there are too many experiments, or no valid result.
    """
    by_experiment: dict[str, list[Result]] = {}
    for result in results:
        by_experiment.setdefault(result.cell.row["experiment"], []).append(result)
    settings = _settings(list(by_experiment.values()))
    selections = map(_selection, by_experiment.values())
    groups = [(setting, chosen) for setting, chosen in zip(settings, selections, strict=True) if chosen.valid]
    if not groups:
        raise SpecError(" ".join(grouping.invalid_note(results)))
    if len(groups) == 1:
        return Panels([Panel("", (), groups[0][1])], ())
    columns = _axes([setting for setting, _ in groups])
    most = _MAX_PANELS if len(columns) == 1 else _MAX_GRID
    if len(by_experiment) > most:
        raise SpecError(f"cells: must be of at most {most} experiments, got {len(by_experiment)}")
    groups.sort(key=lambda group: [parallel.order(group[0][column]) for column in columns])
    texts = {column: _texts([setting[column] for setting, _ in groups]) for column in columns}
    return Panels(
        [
            Panel(_title(setting, texts), tuple(setting[column] for column in columns), selection)
            for setting, selection in groups
        ],
        tuple(", ".join(filter(None, _axis(column))) for column in columns),
    )


def _axes(settings: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Return the first column, the first two, or all columns that tell all settings apart."""
    distinct = len(settings)
    varying = [name for name in settings[0] if len({str(setting[name]) for setting in settings}) > 1]
    if all(setting["load_percent"] is not None for setting in settings):
        # The load and the rate give the number of users.
        varying = [name for name in varying if name not in ("users_per_side", "users.per_side")]
    columns = [name for name in varying if name in _AXES]
    paths = [name for name in varying if name not in (*_AXES, _DIGEST)]
    several = (names for names in (columns, paths) if names)
    for names in (*combinations(columns, 1), *combinations(columns, 2), *several):
        if len({tuple(str(setting[name]) for name in names) for setting in settings}) == distinct:
            return tuple(names)
    return (_DIGEST,)


def _axis(column: str) -> tuple[str, str]:
    """Return the quantity and the unit of an axis; a path of the spec is its own name."""
    return _AXES.get(column, (column, ""))


def _title(setting: dict[str, Any], texts: Mapping[str, Mapping[Any, str]]) -> str:
    """Return the place of a setting on the axes, from the texts of their values."""
    places = [(_axis(column), text[setting[column]]) for column, text in texts.items()]
    return ", ".join(f"{quantity} {value} {unit}".rstrip() for (quantity, unit), value in places)


def _quantity(title: str) -> str:
    """Return the quantity of an axis's title, without its unit."""
    return title.partition(",")[0]


def _settings(experiments: Sequence[Sequence[Result]]) -> list[dict[str, Any]]:
    """Return the columns of each experiment, and its values at the paths where the specs differ."""
    # The uncongested network has a link of its own.
    cells = [
        next((result.cell for result in results if result.cell.label != BASELINE), results[0].cell)
        for results in experiments
    ]
    columns: list[dict[str, Any]] = [{name: cell.row[name] for name in (*_AXES, _DIGEST)} for cell in cells]
    paths = differences([json.loads(without_scheme(cell.resolved)) for cell in cells])
    for name, values in paths.items():
        for setting, value in zip(columns, values, strict=True):
            setting[name] = value if isinstance(value, (int, float)) else value_text(value)
    return columns


def _selection(results: Sequence[Result]) -> Selection:
    valid, invalid = grouping.split_valid(results)
    return Selection(grouping.by_scheme(valid), invalid)


def _texts(values: Sequence[Any]) -> dict[Any, str]:
    """Return the texts of values, with as few digits, from three to six, as tell them apart."""
    texts: dict[Any, str] = {}
    for digits in range(3, 7):
        texts = {value: _text(value, digits) for value in values}
        if len(set(texts.values())) == len(texts):
            break
    return texts


def _text(value: object, digits: int) -> str:
    if not isinstance(value, float):
        return str(value)
    # Digits before the decimal point are never rounded.
    return f"{round(value, max(0, digits - 1 - floor(log10(abs(value) or 1)))):g}"
