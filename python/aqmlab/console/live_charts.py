"""The figures of a job in progress, without rows: the page adds those of the readings."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl

from aqmlab.reports.charts import Chart
from aqmlab.reports.vega import VegaBuilder
from aqmlab.results.figures.charts import DELAY, Axis, Lines

_RATE = "rate, Mbit/s"

_FIGURES = {
    "queue": ("Queue", "packets", "The mean since the reading before; during the warm-up the instantaneous length."),
    "signals": ("Dropped or marked", "% of the packets", "The share of the packets that arrive at the queue."),
    "throughput": (
        "Throughput",
        _RATE,
        "The rate of IP packets. Grey: the capacity of a link whose rate varies, overhead of frames included.",
    ),
    "response": ("Response times", "response time, ms", "Those of the measurement window only."),
}
"""The title, the axis and the meaning of each quantity of a reading that is drawn."""

_BEHIND = {"throughput": Axis("capacity", _RATE)}
"""Quantities that are behind others."""


@cache
def charts() -> tuple[Chart, ...]:
    """Return the figures, each with the name of its quantity."""
    vega = VegaBuilder([])
    no_rows = pl.DataFrame(schema={"scheme": pl.String})
    return tuple(
        Chart(name, title, meaning, no_rows, {"": vega.stream(Lines(DELAY.x, Axis("value", label)), _BEHIND.get(name))})
        for name, (title, label, meaning) in _FIGURES.items()
    )


def record() -> dict[str, Any]:
    """Return the figures for the page's script."""
    return {"schemes": [], "charts": {chart.name: chart.record() for chart in charts()}}
