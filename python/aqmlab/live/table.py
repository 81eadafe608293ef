"""Parity as a table and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.figure import Figure
from rich.table import Table

from aqmlab.live.parity import Parity, SchemeParity
from aqmlab.results.figures import plot
from aqmlab.results.figures.charts import CDF
from aqmlab.ui import canvas, console


def parity_table(parity: Parity) -> Table:
    """Return the measures of each scheme in both worlds as a table."""
    table = console.sheet()
    table.add_column("scheme")
    table.add_column("measure")
    world = parity.world
    for heading in (world, "simulated", f"{world} - simulated", "95 % interval"):
        table.add_column(heading, justify="right")
    for scheme in parity.schemes:
        name = scheme.label
        for row in scheme.rows():
            table.add_row(name, row["measure"], *_numbers(world, row))
            name = ""
    return table


def _numbers(world: str, row: Mapping[str, Any]) -> Iterator[str]:
    sizes = [abs(value) for name in (world, "simulated", "difference") if (value := row.get(name)) is not None]
    digits = 0 if sizes and max(sizes) >= 100 else 2
    for name in (world, "simulated"):
        yield console.number(row.get(name), digits) if name in row else ""
    difference, low, high = (row.get(name) for name in ("difference", "low", "high"))
    sign = "+" if world in row else ""
    yield "-" if difference is None else f"{difference:{sign},.{digits}f}"
    yield "" if low is None or high is None else f"{low:+,.{digits}f} to {high:+,.{digits}f}"


def captions(parity: Parity) -> Iterator[str]:
    """Yield sentences that explain the numbers, and name the live runs that are left out."""
    seeds = max(len(scheme.pairs) for scheme in parity.schemes)
    if seeds > 1:
        yield "Means over seeds; paired differences by seed, with Student's t."
    else:
        yield "One seed: there is no interval."
    yield "The distance of response times is Hausdorff's, in percent of a figure of 2 s by 100 %."
    for scheme in parity.schemes:
        yield from _invalid_captions(scheme)


def _invalid_captions(scheme: SchemeParity) -> Iterator[str]:
    for pair in scheme.pairs:
        if not pair.valid:
            reasons = "; ".join(pair.invalid_reasons)
            yield f"INVALID and left out: {scheme.label}, seed {pair.real.cell.seed}, live: {reasons}"


def overlay(figure: Figure, parity: Parity) -> None:
    """Draw the distributions of response times of both worlds in one figure."""
    curves = {label: curve for scheme in parity.schemes for label, curve in scheme.curves().items()}
    styles = canvas.LineStyles("")
    styles.share_styles(curves)
    canvas.label_lines(plot.lines(figure.subplots(), CDF, curves, styles))
