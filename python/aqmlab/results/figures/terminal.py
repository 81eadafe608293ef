"""Charts of a terminal: lines of Braille dots, with the colours of all other figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from string import ascii_lowercase

import numpy as np
import plotille
import polars as pl
from numpy.typing import NDArray
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from aqmlab.results.cells import BASELINE
from aqmlab.results.figures.charts import Axis, Lines
from aqmlab.ui.canvas import LineStyles

_HEIGHT = 20
"""The height in lines. Ours."""

_MARGIN = 16
"""The columns left of the lines, and at their right end."""

_LETTERS = 5
"""The number of places at which a line has its letter: colours alone do not tell lines apart."""


class TerminalChart:
    """A line for each scheme, as wide as the console, with a letter on each line and a legend below."""

    def __init__(self, chart: Lines, curves: Mapping[str, pl.DataFrame]) -> None:
        self._chart = chart
        self._curves = curves

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(f"{self._chart.y.label}, by {self._chart.x.label}", style="bold")
        # Rich converts the colours to those of the terminal, or leaves them out.
        yield Text.from_ansi(self._figure(options.max_width).show().replace("()", ""), no_wrap=True)
        yield from self._legend()

    def _figure(self, width: int) -> plotille.Figure:
        figure = plotille.Figure()
        figure.color_mode = "rgb"
        # There is a tick every ten columns; of an odd number of ticks the middle one is round.
        figure.width, figure.height = max(20, min(100, (width - _MARGIN) // 20 * 20)), _HEIGHT
        for axis, name in ((self._chart.x, "x"), (self._chart.y, "y")):
            low, high = _limits(axis, self._curves)
            getattr(figure, f"set_{name}_limits")(low, high)
            setattr(figure, f"{name}_ticks_fkt", _tick_labels(axis))
            setattr(figure, f"{name}_label", "")
        for index, (label, curve) in enumerate(self._curves.items()):
            self._draw(figure, index, curve, self._colours[label])
        return figure

    def _draw(self, figure: plotille.Figure, index: int, curve: pl.DataFrame, colour: tuple[int, int, int]) -> None:
        rows = self._chart.rows(curve)
        low, high = _limits(self._chart.x, self._curves)
        bottom, top = _limits(self._chart.y, self._curves)
        x, y = (_scaled(axis, rows[axis.column].to_numpy()) for axis in (self._chart.x, self._chart.y))
        shown = np.isfinite(x) & np.isfinite(y)
        # The highest of the four dots of each line of text is below the upper limit.
        x, y = x[shown], np.minimum(y[shown], top - (top - bottom) / (4 * _HEIGHT))
        if len(x) < 2:
            return
        figure.plot(x.tolist(), y.tolist(), lc=colour)
        # Letters of different lines stand in different columns.
        shift = (index + 0.5) / len(self._curves)
        places = low + (high - low) * (np.arange(_LETTERS) + shift) / _LETTERS
        places = places[(places >= x[0]) & (places <= x[-1])]
        figure.scatter(places.tolist(), np.interp(places, x, y).tolist(), lc=colour, marker=_letter(index))

    def _legend(self) -> Iterator[Text]:
        for index, (label, curve) in enumerate(self._curves.items()):
            red, green, blue = self._colours[label]
            note = " (no requests completed)" if curve.is_empty() else ""
            yield Text(f"  {_letter(index)}  {label}{note}", style=f"rgb({red},{green},{blue})")

    @property
    def _colours(self) -> Mapping[str, tuple[int, int, int]]:
        styles = LineStyles(BASELINE)
        styles.share_styles(self._curves)
        grey = (128, 128, 128)
        return {label: grey if label == BASELINE else _rgb(styles[label]["color"]) for label in self._curves}


def _letter(index: int) -> str:
    return ascii_lowercase[index % len(ascii_lowercase)]


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue


def _scaled(axis: Axis, values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        scaled: NDArray[np.float64] = np.log10(values) if axis.is_log else values.astype(float)
    return scaled


def _limits(axis: Axis, curves: Mapping[str, pl.DataFrame]) -> tuple[float, float]:
    """Return the ends of an axis; without any, those of its values."""
    if axis.limits is not None:
        low, high = _scaled(axis, np.array(axis.limits, dtype=float))
        return float(low), float(high)
    values = np.concatenate(
        [_scaled(axis, curve.select(axis.expression).to_series().to_numpy()) for curve in curves.values()]
    )
    finite = values[np.isfinite(values)]
    return (math.floor(finite.min()), math.ceil(finite.max())) if len(finite) else (0.0, 1.0)


def _tick_labels(axis: Axis) -> Callable[[float, float], str]:
    """Return the labels of ticks: only round numbers, and on a logarithmic axis only powers of ten."""

    def label(value: float, _: float) -> str:
        if not axis.is_log:
            return f"{value:,.4g}" if math.isclose(value, float(f"{value:.3g}"), abs_tol=1e-9) else ""
        power = round(value)
        return f"{10.0**power:,.12g}" if abs(value - power) < 1e-6 else ""

    return label
