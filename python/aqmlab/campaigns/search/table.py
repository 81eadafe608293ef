"""Searches as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from aqmlab.show import console

if TYPE_CHECKING:
    from aqmlab.campaigns.search.sensitivity import Sensitivity
    from aqmlab.campaigns.search.tuning import Tuned


def of_tuned(tuned: Tuned) -> Table:
    """Show the best settings: by how much they differ from the scheme as given, where found and on fresh seeds."""
    baseline = ", ".join(
        f"{objective.name} {as_given(tuned, number)} {objective.unit}"
        for number, objective in enumerate(tuned.objectives)
    )
    title = f"Differences from {tuned.scheme}, which has {baseline}"
    table = console.sheet(collapse_padding=True, title=title, title_justify="left")
    table.add_column("scheme", overflow="fold")
    for objective in tuned.objectives:
        table.add_column(f"{objective}, as found", justify="right")
        table.add_column("on fresh seeds, 95 %", justify="right")
    for each in tuned.best:
        cells = []
        for number, found in enumerate(each.found.means):
            mean, low, high = each.interval(number)
            cells += [f"{found:+.4g}", f"{mean:+.4g} [{low:+.4g}, {high:+.4g}]"]
        table.add_row(Text(each.found.scheme), *cells)
    return table


def as_given(tuned: Tuned, objective: int) -> str:
    """Write what the scheme as given comes to; with several seeds half the width of its 95 % interval as well."""
    mean, _, high = tuned.baseline_interval(objective)
    return f"{mean:,.4g}" + (f" ±{high - mean:,.2g}" if math.isfinite(high) else "")


def of_sensitivity(sensitivity: Sensitivity) -> Table:
    """Show the indices of each parameter, by measure."""
    table = console.sheet(collapse_padding=True, title=_said(sensitivity), title_justify="left")
    table.add_column("measure")
    table.add_column("parameter")
    indices = sensitivity.indices
    shown = [name for name in indices.columns[3:] if not name.endswith("_half")]
    for name in shown:
        table.add_column(name, justify="right")
    for row in indices.iter_rows(named=True):
        unit = f", {row['unit']}" if sensitivity.method == "morris" else ""
        table.add_row(f"{row['measure']}{unit}", row["parameter"], *(_index(row, name) for name in shown))
    return table


def _index(row: Mapping[str, Any], name: str) -> str:
    half = row.get(f"{name}_half")
    return f"{row[name]:.3g}" if half is None else f"{row[name]:.3g} ±{half:.2g}"


def _said(sensitivity: Sensitivity) -> str:
    ranges = ", ".join(f"{name} {span}" for name, span in sensitivity.space.items())
    return f"{sensitivity.scheme} over {ranges}: {sensitivity.runs} settings"
