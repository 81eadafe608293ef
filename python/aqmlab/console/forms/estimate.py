"""An estimate of the time of a job before its start, from the costs of stored cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from aqmlab.cells.cell import Cell, work
from aqmlab.running.machine.cpus import available_cpus
from aqmlab.store.store import Store

_MAX_CELLS = 12
"""The number of the newest cells whose costs are read, in some milliseconds each."""

_DEFAULT_COST = 2e-9
"""Seconds of processor time for a unit of work, without earlier cells: some 2 s for 1 Gbit of web traffic from hosts of
2001. Measured on a shared machine with two cores; ours."""


@dataclass(frozen=True)
class Estimate:
    """The time that a job needs."""

    cells: int
    """The number of its cells that are not yet stored."""
    stored: int
    seconds: float
    """The wall time until its end."""
    basis: str
    """The sentence that says from what it is estimated."""

    @property
    def text(self) -> str:
        """The time as people say it."""
        if self.seconds < 10:
            return "a few seconds"
        for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
            if self.seconds >= 1.5 * length:
                return f"about {self.seconds / length:,.0f} {unit}"
        return f"about {round(self.seconds, -1):.0f} seconds"


def estimate(cells: Sequence[Cell], store: Store) -> Estimate:
    """Return the time for simulated cells, each as long as its work at the median cost of the newest cells.

    As many cells run at a time as there are processors, so that the end is no earlier than that of the longest cell.
    """
    keys = set(store.keys())
    new = [cell for cell in cells if cell.key not in keys]
    processors = available_cpus()
    costs = _costs(store)
    times = [work(cell) * (median(costs) if costs else _DEFAULT_COST) for cell in new]
    basis = (
        f"from the processor time of the newest {len(costs)} cells of this store"
        if costs
        else "at 2 s of processor time for 1 Gbit of traffic, because this store has no simulated cell yet"
    )
    seconds = max(sum(times) / processors, max(times, default=0.0))
    return Estimate(len(new), len(cells) - len(new), seconds, f"{basis}, {processors} cells at a time")


def real_time(cells: Sequence[Cell]) -> Estimate:
    """Return the time for live cells, which take as long as they last."""
    return Estimate(len(cells), 0, sum(cell.end_s for cell in cells), "a live run lasts as long as its time")


def _costs(store: Store) -> list[float]:
    """Return the processor time for a unit of work of the newest simulated cells."""
    cells = store.cells(["cell", "world", "created"])
    newest = cells.filter(world="simulated").tail(_MAX_CELLS)["cell"].to_list()
    results = [result for key in newest if (result := store.get_by_key(key)) is not None]
    return [
        result.metadata["cpu_s"] / amount
        for result in results
        if "cpu_s" in result.metadata and (amount := work(result.cell)) > 0
    ]
