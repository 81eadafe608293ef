"""Figures of results in matplotlib with given styles; ``aqmlab.plot`` is the public interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm
from matplotlib.patches import Ellipse as Outline
from numpy.typing import NDArray

from aqmlab.results.figures.charts import DIFFERENCE, Lines
from aqmlab.stats.ellipse import Ellipse
from aqmlab.ui import canvas

Styles = canvas.LineStyles | Mapping[str, Mapping[str, Any]]
"""The style of each scheme's lines, by label."""

DENSITY = "requests in a cell of 500 B and 40 ms"
"""The label of a density's colour bar."""

_BAND: Mapping[str, Any] = {"alpha": 0.15, "linewidth": 0}

_DENSE: Mapping[str, Any] = {"alpha": 0.25, "linewidth": 0, "rasterized": True}
"""The style of a band with much detail, which is stored as pixels in an SVG."""

_MAX_KB, _MAX_S = 100, 14
"""The bounds of a density, those of the scatter plots of Le et al. (2004)."""

_MAX_NUMBERS = 64
"""The most cells of a heat map that have their numbers in them. Ours."""

_LIGHT = 0.45
"""The luma from which black is better to read on a colour than white. Ours."""


def lines(axis: Axes, chart: Lines, curves: Mapping[str, pl.DataFrame], styles: Styles) -> Axes:
    """Draw a line for each scheme, with a band if its frame has one."""
    for label, curve in curves.items():
        rows = chart.rows(curve)
        x, style = rows[chart.x.column], styles[label]
        name = f"{label}: no requests completed" if curve.is_empty() else label
        axis.plot(x, rows[chart.y.column], label=name, **style)
        if "low" in rows:
            fill = _DENSE if chart.is_dense else _BAND
            axis.fill_between(x, rows["low"], rows["high"], color=style["color"], **fill)
    for name, axis_spec in (("x", chart.x), ("y", chart.y)):
        scale = {f"{name}scale": "log"} if axis_spec.is_log else {}
        axis.set(
            **scale,
            **({f"{name}lim": axis_spec.limits} if axis_spec.limits else {}),
            **{f"{name}label": axis_spec.label},
        )
    return axis


def difference(axis: Axes, bands: Mapping[str, pl.DataFrame], styles: Styles, to: str) -> Axes:
    """Draw differences from the distribution of response times under the scheme ``to``, which is drawn at 0."""
    times = [time for band in bands.values() for time in band["time_ms"]]
    axis.plot([min(times, default=1), max(times, default=1)], [0, 0], label=to, **styles[to])
    lines(axis, DIFFERENCE, bands, styles)
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, -100), min(high, 100))
    return axis


def ellipses(axis: Axes, points: Mapping[str, pl.DataFrame], styles: Styles) -> Axes:
    """Draw the ellipses of one standard deviation of delay and throughput, with their centres."""
    for label, frame in points.items():
        fit = Ellipse.from_points(frame["delay_ms"], frame["throughput_mbps"])
        outline: Any = {"xy": (fit.x, fit.y), "width": 2 * fit.major, "height": 2 * fit.minor, "angle": fit.angle_deg}
        colour = styles[label]["color"]
        axis.add_patch(Outline(**outline, facecolor=colour, alpha=0.15, linewidth=0))
        axis.add_patch(Outline(**outline, fill=False, edgecolor=colour, linewidth=1.2))
        axis.plot([fit.x], [fit.y], "o", color=colour, markersize=3.5, label=label)
    axis.autoscale_view()
    axis.set_xlim(left=0)
    return axis


def xy(axis: Axes, curves: Mapping[str, pl.DataFrame], styles: Styles, dots: float = 0) -> Axes:
    """Draw one number against another as :func:`aqmlab.plot.xy`; ``linestyle="none"`` draws only dots."""
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
    """Draw one queue over time as an area, and the average of its law as a line."""
    time, queue = samples["time_s"], samples["queue"]
    axis.fill_between(time, queue, color=canvas.PALETTE[0], linewidth=0, alpha=0.35, step="post", rasterized=True)
    axis.plot(time, queue, color=canvas.PALETTE[0], linewidth=0.6, label="queue", rasterized=True)
    if "average" in samples.columns:
        axis.plot(time, samples["average"], color=canvas.PALETTE[1], linewidth=1.4, label="its average")
    return axis


def density(axis: Axes, exchanges: pl.LazyFrame, **mesh: Any) -> QuadMesh:
    """Draw what :func:`aqmlab.plot.density` does, and return the mappable of its colour bar."""
    requests = (
        exchanges.select(kb=pl.col("response_bytes") / 1000, s=pl.col("response_time_ms") / 1000)
        .filter((pl.col("kb") < _MAX_KB) & (pl.col("s") < _MAX_S))
        .collect()
    )
    edges = np.linspace(0, _MAX_KB, 201), np.linspace(0, _MAX_S, 351)
    count, *_ = np.histogram2d(requests["kb"], requests["s"], bins=edges)
    mesh_style = {"norm": LogNorm(1, 10_000), "cmap": "viridis", "rasterized": True, **mesh}
    image = axis.pcolormesh(*edges, np.ma.masked_equal(count.T, 0), **mesh_style)
    axis.set(xlabel="response size, kB", xlim=(0, _MAX_KB))
    axis.set(ylabel="response time, s", ylim=(0, _MAX_S), yticks=range(_MAX_S + 1))
    return image


def heatmap(axis: Axes, rows: pl.DataFrame, *, x: str, y: str, value: str, **mesh: Any) -> QuadMesh:
    """Draw what :func:`aqmlab.plot.heatmap` does, and return the mappable of its colour bar."""
    columns, lines = _in_order(rows[x]), _in_order(rows[y])
    values = np.full((len(lines), len(columns)), np.nan)
    for column, line, number in rows.select(x, y, pl.col(value).cast(pl.Float64)).drop_nulls().iter_rows():
        values[lines.index(line), columns.index(column)] = number
    cells = np.ma.masked_invalid(values)
    image = axis.pcolormesh(cells, **{"cmap": "cividis", "edgecolor": "white", "linewidth": 1, **mesh})
    axis.set_xticks(np.arange(len(columns)) + 0.5, [_text(name) for name in columns])
    axis.set_yticks(np.arange(len(lines)) + 0.5, [_text(name) for name in lines])
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.set(xlabel=x, ylabel=y)
    if cells.size <= _MAX_NUMBERS:
        for (line, column), number in np.ndenumerate(values):
            if np.isfinite(number):
                middle = (column + 0.5, line + 0.5)
                colour = _ink(np.asarray(image.cmap(image.norm(number))))
                axis.annotate(f"{number:,.3g}", middle, ha="center", va="center", size="small", color=colour)
    return image


def _in_order(names: pl.Series) -> list[Any]:
    """Return the values of an axis: numbers from the smallest, names in the order of the rows."""
    values = names.drop_nulls().unique(maintain_order=True)
    return (values.sort() if values.dtype.is_numeric() else values).to_list()


def _text(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def _ink(colour: NDArray[np.float64]) -> str:
    """Return black or white, the one with more contrast on a colour."""
    return "black" if np.dot(colour[:3], (0.2126, 0.7152, 0.0722)) > _LIGHT else "white"
