"""Queries of a store for the console's pages: comparisons, and the output of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from aqmlab._core import SpecError
from aqmlab.campaigns import table
from aqmlab.campaigns.campaign import Campaign, plan, select_numbers
from aqmlab.campaigns.failures import Failure
from aqmlab.campaigns.grid import Grid
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.console.auth import Rejected
from aqmlab.console.cell_list import MAX_COMPARED, title_of
from aqmlab.console.forms.job_requests import JobRequest
from aqmlab.reports.charts import Chart
from aqmlab.reports.sweeps.panels import Panels, panels
from aqmlab.results import grouping
from aqmlab.results import table as comparison_table
from aqmlab.results.table import ComparisonTable
from aqmlab.storage.location import is_key
from aqmlab.store.result import Result
from aqmlab.store.store import Store


@dataclass(frozen=True)
class Comparison:
    """The content of a page that compares cells."""

    panels: Panels
    charts: Sequence[Chart]
    names: Mapping[str, str]
    """The short names of schemes."""
    styles: Mapping[str, Any]
    """The lines of schemes by short name."""

    @property
    def setting(self) -> str:
        """The setting that all cells have, apart from the uncongested network, which has a link of its own."""
        rows = [result.cell.row for panel in self.panels.panels for result in panel.selection.valid]
        congested = [row for row in rows if row["signal"] != "none"] or rows
        first, *others = congested
        return title_of(
            {name: value if all(row[name] == value for row in others) else None for name, value in first.items()}
        )

    def record(self) -> dict[str, Any]:
        """Return the figures for the page's script."""
        return {"schemes": list(self.styles), "charts": {chart.name: chart.record() for chart in self.charts}}


@lru_cache(maxsize=4)
def comparison(store: Store, keys: tuple[str, ...]) -> Comparison:
    """Return a comparison of cells, with a panel for each experiment; the page and its figures are two requests.

    Raises
    ------
    Rejected
        When there are no cells, too many, a missing one, or no valid one.
    """
    try:
        found = panels(results(store, keys))
    except SpecError as error:
        raise Rejected(400, str(error)) from None
    charts, vega = found.charts()
    return Comparison(found, charts, vega.names, vega.styles)


def tables(comparison: Comparison) -> list[tuple[str, list[ComparisonTable], list[str]]]:
    """Return the title, the tables and the captions of each panel."""
    found = []
    for panel in comparison.panels.panels:
        schemes = panel.selection.schemes
        found.append((panel.title, comparison_table.parts(schemes), comparison_table.captions(schemes, ())))
    return found


def headline(result: Result) -> list[tuple[str, str]]:
    """Return what is first to know of a cell: response times, requests, the goodput of its sources, and its run."""
    record = result.record()
    times = record["response_time_ms"]
    shown = [(title, times[name]) for title, name in (("median", "p50"), ("p90", "p90"), ("p99", "p99"))]
    return [
        *((f"{title} response time", f"{_short(value)} ms") for title, value in shown if value is not None),
        *([("requests completed", f"{record['completed_requests']:,}")] if record["completed_requests"] else []),
        *((str(source["name"]), f"{_short(source['goodput_mbps'])} Mbit/s") for source in record["sources"]),
        *result.run_facts,
    ]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def results(store: Store, keys: Sequence[str]) -> list[Result]:
    """Return the results of distinct cells in the order of their start.

    Raises
    ------
    Rejected
        When there are no cells, too many, or a missing one.
    """
    if not 1 <= len(keys) <= MAX_COMPARED:
        raise Rejected(400, f"choose from 1 to {MAX_COMPARED} cells")
    return sorted((result(store, key) for key in dict.fromkeys(keys)), key=grouping.started_at_s)


def result(store: Store, key: str) -> Result:
    """Return the result of a cell.

    Raises
    ------
    Rejected
        When there is no such cell.
    """
    stored = store.get_by_key(key) if is_key(key) else None
    if stored is None:
        raise Rejected(404, "there is no such cell")
    return stored


@dataclass(frozen=True)
class JobOutput:
    """The output of a job in the store."""

    cells: Sequence[str] = ()
    """The keys of the completed cells."""
    headings: Sequence[str] = ()
    """The headings of a sweep's means."""
    points: Sequence[Sequence[str]] = ()
    """The rows of a sweep's means, one for each point."""
    axes: int = 0
    """The number of columns that identify the point."""
    failures: Sequence[Failure] = ()


def job_output(store: Store, request: JobRequest, keys: Sequence[str]) -> JobOutput:
    """Return the output of a job, which is complete only if the job completed."""
    if request.grid is None:
        return JobOutput(cells=[key for key in keys if store.get_by_key(key) is not None])
    planned_cells = plan(Grid.from_toml(request.grid), request.seeds, load_calibrations(store.out))
    campaign = Campaign(planned_cells, store.out, select_numbers((), planned_cells))
    headings, points = table.texts(campaign.means, campaign.axes, campaign.numbers)
    cells = campaign.cells.filter(state="done")["cell"].unique(maintain_order=True).to_list()
    return JobOutput(cells, headings, points, len(campaign.axes) or 1, campaign.failures)
