"""Charts that matplotlib and Vega-Lite both draw, each described once: axes, and the columns of lines and bands.

``results/figures/plot.py`` and ``report/vega.py`` are the two back ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl


@dataclass(frozen=True)
class Axis:
    """A column on an axis."""

    column: str
    label: str
    """The quantity, with its unit."""
    values: pl.Expr | None = None
    """The column's values; by default the frame of results has the column."""
    is_log: bool = False
    limits: tuple[float, float] | None = None
    """The ends of the axis; by default those of the values."""

    @property
    def expression(self) -> pl.Expr:
        """The column, from those of a frame of results."""
        return (pl.col(self.column) if self.values is None else self.values).alias(self.column)

    def log(self, limits: tuple[float, float] | None = None) -> Axis:
        """Return the same axis on a logarithmic scale."""
        return replace(self, is_log=True, limits=limits)


@dataclass(frozen=True)
class Lines:
    """A line for each scheme, with a band where the scheme's frame has one."""

    x: Axis
    y: Axis
    low: pl.Expr | None = None
    """The lower end of the band, from the columns of a frame of results."""
    high: pl.Expr | None = None
    is_dense: bool = False
    """True for a band of much detail, which is pixels within an SVG."""

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns of both axes from a scheme's results, and ``low`` and ``high`` of its band."""
        bounds = {"low": self.low, "high": self.high}
        present = {
            name: bound for name, bound in bounds.items() if bound is not None and bound.meta.root_names()[0] in frame
        }
        return frame.select(self.x.expression, self.y.expression, **present)


TIME = Axis("time_ms", "response time, ms")

SIZE = Axis("bytes", "size of the response, bytes", is_log=True)

CDF = Lines(
    replace(TIME, limits=(0, 2000)),
    Axis("within", "requests answered within it, %", 100 * pl.col("fraction"), limits=(0, 100)),
    low=100 * pl.col("low"),
    high=100 * pl.col("high"),
)
"""The cumulative distribution of response times, up to 2 s as in the papers."""

CCDF = Lines(
    TIME.log((10, 100_000)),
    # Rounding errors would be points of a logarithmic axis.
    Axis("beyond", "requests that take longer, %", 100 * (1 - pl.col("fraction")).round(12)).log((0.001, 100)),
)
"""The complementary distribution, on logarithmic axes: the tail."""

DIFFERENCE = Lines(
    TIME.log(),
    Axis("more", "difference of the CDFs, percentage points", 100 * pl.col("difference")),
    # A band over few seeds may be wider than any difference can be.
    low=100 * pl.col("low").clip(-1, 1),
    high=100 * pl.col("high").clip(-1, 1),
)
"""The difference of two cumulative distributions."""

QUANTILES = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile"}
"""Quantiles by response size, and their names."""


def slowdown(quantile: str) -> Lines:
    """Return a quantile of slowdowns by response size."""
    return Lines(SIZE, Axis(quantile, f"slowdown, {QUANTILES[quantile]}").log())


def time_chart(variable: str, label: str) -> Lines:
    """Return the mean of a variable of a queue over time, with a band from its minimum to its maximum."""
    low, mean, high = (pl.col(f"{variable}_{part}") for part in ("low", "mean", "high"))
    return Lines(Axis("time_s", "time since the start, s"), Axis("mean", label, mean), low, high, is_dense=True)


DELAY = time_chart("delay_ms", "queueing delay, ms")

PROBABILITY = time_chart("probability", "probability")
