"""Parallel coordinates: a vertical axis for each setting and measure, and a line for each combination of settings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from aqmlab.reports.charts import Chart
from aqmlab.reports.vega import VegaBuilder

_TICKS = 5
"""The number of values that an axis names, unless it has fewer. Ours."""

CAPTION = (
    "A line is one scheme at one combination of the settings, its numbers means over the seeds."
    " Drag over an axis to keep the lines that cross it there, again to narrow the choice; double-click to reset."
)


def chart(points: pl.DataFrame, titles: Mapping[str, str], settings: int, vega: VegaBuilder) -> Chart | None:
    """Return the figure of points.

    Parameters
    ----------
    points
        A row for each line: its ``label``, and a column for each axis.
    titles
        The columns in their order, with the titles of their axes.
    settings
        The number of columns, from the first, that name a line; the others are measures.
    vega
        The builder of the figure, with the styles of all labels.
    """
    axes = {name: title for name, title in titles.items() if points[name].n_unique() > 1}
    if len(axes) < 2 or points.height < 2:
        return None
    named = [pl.col("label"), *(pl.lit(f"{titles[name]} ") + _text(name) for name in list(titles)[:settings])]
    points = points.with_columns(point=pl.concat_str(named, separator=", ", ignore_nulls=True))
    long, ticks = [], []
    for name, title in axes.items():
        shares = _shares(points[name])
        values = points.select("label", "point", axis=pl.lit(title), value=_text(name), share=shares)
        long.append(values.filter(pl.col("share").is_not_null()))
        ticks += [{"axis": title, **tick} for tick in _ticks(points[name], shares)]
    rows = vega.rows(dict(_by_label(pl.concat(long))))
    view = vega.parallel(list(axes.values()), ticks)
    return Chart("parallel", "Settings and measures together", CAPTION, rows, {"": view}, is_wide=True)


def order(value: object) -> tuple[float, str]:
    """Return the key of the order of numbers and texts: texts by the number that they begin with, as 5 ms does."""
    number = re.match(r"[\d.]*\d", str(value))
    return float(number[0]) if number else math.inf, str(value)


def _by_label(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for (label,), frame in rows.group_by("label", maintain_order=True):
        yield str(label), frame.drop("label")


def _text(name: str) -> pl.Expr:
    """Return the values of a column as texts of at most six digits."""
    column = pl.col(name)
    return column.map_elements(lambda value: f"{value:.6g}" if isinstance(value, float) else str(value), pl.String)


def _shares(values: pl.Series) -> pl.Series:
    """Return the positions of values on their axis, from 0 at its foot to 1."""
    if not values.dtype.is_numeric():
        distinct = sorted(values.drop_nulls().unique(), key=order)
        values = values.replace_strict({value: index for index, value in enumerate(distinct)}, default=None)
    values = values.cast(pl.Float64)
    low, high = values.min(), values.max()
    assert isinstance(low, float)
    assert isinstance(high, float)
    return (values - low) / ((high - low) or 1.0)


def _ticks(values: pl.Series, shares: pl.Series) -> list[dict[str, Any]]:
    """Return the values that an axis names, with their positions: each one, or some at equal distances."""
    distinct = pl.DataFrame({"value": values, "share": shares}).drop_nulls().unique("share").sort("share")
    if distinct.height <= _TICKS or not values.dtype.is_numeric():
        every = -(-distinct.height // (2 * _TICKS))
        chosen = distinct.gather_every(every)
        return [{"share": share, "text": _short(value)} for value, share in chosen.iter_rows()]
    low, high = distinct["value"][0], distinct["value"][-1]
    steps = [step / (_TICKS - 1) for step in range(_TICKS)]
    return [{"share": step, "text": _short(low + step * (high - low))} for step in steps]


def _short(value: object) -> str:
    if isinstance(value, (int, float)):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
