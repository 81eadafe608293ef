"""The latest numbers of each scheme while its cells run: delay, loss and throughput, from the readings of the runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from aqmlab.ui.counts import pluralize

_MAX_SCHEMES = 8
"""The largest number of rows: the screen also has the bars of the cells. Ours."""

_QUANTITIES = {"delay": ("sojourn time", "ms"), "loss": ("loss", "%"), "throughput": ("throughput", "Mbit/s")}
"""The quantities of a reading that are shown, with their headings and units."""


class _Latest(NamedTuple):
    """The latest reading of a cell, at the link and in the direction with the longest queue."""

    is_warm_up: bool
    values: Sequence[float | None]


class SchemeReadings:
    """A callback for readings, and the table of their means over the cells of each scheme."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_scheme: dict[str, dict[str, _Latest]] = {}

    def __call__(self, reading: Mapping[str, Any]) -> None:
        """Record a reading."""
        lengths = reading["queue"]
        place = max(lengths, key=lambda name: lengths[name] or 0.0)
        values = [reading[quantity].get(place) for quantity in _QUANTITIES]
        with self._lock:
            cells = self._by_scheme.setdefault(reading["scheme"], {})
            cells[reading["cell"]] = _Latest(reading["now_s"] < reading["warmup_s"], values)

    def table(self) -> Table | None:
        """Return a table with a row for each scheme; ``None`` before the first reading."""
        with self._lock:
            rows = [self._row(scheme, list(cells.values())) for scheme, cells in self._by_scheme.items()]
        if not rows:
            return None
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim", collapse_padding=True)
        table.add_column("scheme", no_wrap=True, overflow="ellipsis")
        table.add_column("mean of", no_wrap=True)
        for heading, unit in _QUANTITIES.values():
            table.add_column(f"{heading}, {unit}", justify="right", no_wrap=True)
        for row in rows[:_MAX_SCHEMES]:
            table.add_row(*row)
        if (left_out := len(rows) - _MAX_SCHEMES) > 0:
            table.add_row(Text(f"and {pluralize(left_out, 'further scheme')}", style="dim"))
        return table

    @staticmethod
    def _row(scheme: str, latest: Sequence[_Latest]) -> Iterator[Text]:
        measured = [cell for cell in latest if not cell.is_warm_up]
        yield Text(scheme)
        yield Text(pluralize(len(measured), "cell") if measured else "warm-up")
        for column in zip(*(cell.values for cell in measured or latest), strict=True):
            values = [value for value in column if value is not None]
            yield Text(f"{np.mean(values):,.3g}" if values else "-", style="" if measured else "dim")
