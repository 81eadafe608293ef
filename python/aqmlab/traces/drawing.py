"""The drawing of a trace: in the terminal, and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.table import Table

from aqmlab.traces.trace import Trace
from aqmlab.ui import console

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS, _ROWS = 64, 8
"""The size of a drawing in the terminal, in characters."""

_UNITS = {"s": "s", "mbps": "Mbit/s", "percent": "%"}


def frame(trace: Trace) -> pl.DataFrame:
    """Return the rows of a trace."""
    return pl.DataFrame({"seconds": trace.seconds, "mbps": trace.mbps}, schema_overrides={"mbps": pl.Float64})


def table(trace: Trace) -> Table:
    """Return a table of the numbers that describe a trace."""
    rows = console.sheet()
    for title in ("number", "value", "unit"):
        rows.add_column(title, justify="right" if title == "value" else "left")
    for name, value in trace.summary().items():
        words = name.split("_")
        unit = _UNITS.get(words[-1], "")
        rows.add_row(" ".join(words[:-1] if unit else words), f"{value:,.6g}", unit)
    return rows


def text(trace: Trace) -> str:
    """Return the rates over a period as text, a column for each part of it and its mean rate.

    Examples
    --------
    >>> text(Trace((0.0, 1.0), (8.0, 4.0))).splitlines()[4].count("#")
    64
    """
    return rates_text(trace.means(COLUMNS), trace.period_s)


def rates_text(means: NDArray[np.float64], end_s: float) -> str:
    """Return :data:`COLUMNS` mean rates in Mbit/s as text, over the time from 0 to ``end_s``."""
    top = float(means.max())
    lines = []
    for row in range(_ROWS, 0, -1):
        # A column reaches the row that it fills by half or more.
        filled = "".join("#" if mean >= (row - 0.5) * top / _ROWS else " " for mean in means)
        lines.append(f"{row * top / _ROWS:>8.4g} |{filled}".rstrip())
    axis = f"{'Mbit/s':>8} +{'-' * COLUMNS}"
    end = f"{end_s:,.6g} s"
    return "\n".join([*lines, axis, f"{'':>9} 0{end:>{COLUMNS - 1}}"])


def figure(trace: Trace, canvas_figure: Figure, *, title: str) -> None:
    """Draw the rates over a period and their mean."""
    axis = canvas_figure.subplots()
    edges = np.append(trace.seconds, trace.period_s)
    axis.stairs(np.array(trace.mbps), edges, linewidth=1.2)
    axis.axhline(trace.mean_mbps, color="black", linewidth=0.8, linestyle="--")
    axis.annotate(
        f"mean {trace.mean_mbps:.4g} Mbit/s", (edges[-1], trace.mean_mbps), ha="right", va="bottom", fontsize=9
    )
    axis.set(xlabel="time, s", ylabel="capacity, Mbit/s", xlim=(0, edges[-1]), ylim=(0, None))
    axis.set_title(title, loc="left", fontsize=10)
