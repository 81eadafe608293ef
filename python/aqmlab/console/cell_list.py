"""The table of runs: search, filters, order, columns and pages of a store's cells."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import polars as pl
from starlette.datastructures import QueryParams

from aqmlab.console.auth import Rejected
from aqmlab.results import timeseries
from aqmlab.store import rows
from aqmlab.store.annotations import Annotation
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from aqmlab.store.table import DISTINGUISHING
from aqmlab.ui.canvas import PALETTE

PAGE_ROWS = 100

TITLES = {
    "label": "scheme",
    "load_percent": "load, %",
    "seed": "seed",
    "response_time_ms_p50": "median response time, ms",
    "response_time_ms_p90": "p90 response time, ms",
    "response_time_ms_p99": "p99 response time, ms",
    "queue_delay_ms_mean": "queueing delay, ms",
    "queue_delay_ms_p99": "p99 queueing delay, ms",
    "loss_percent": "loss, %",
    "mark_percent": "marked, %",
    "throughput_mbps": "throughput, Mbit/s",
    "utilisation": "utilization",
    "completed_requests": "requests",
    "created": "created, UTC",
    "rate_mbps": "rate, Mbit/s",
    "users_per_side": "users per side",
    "rtt": "RTT",
    "workload": "workload",
    "testbed": "testbed",
    "world": "world",
    "kernel": "kernel",
    "unmet": "failed checks",
    "bytes": "size, MB",
}
"""The columns that can be shown, in their order, with their titles."""

DEFAULT_COLUMNS = (
    *("load_percent", "seed", "response_time_ms_p50", "response_time_ms_p99", "queue_delay_ms_mean"),
    *("loss_percent", "throughput_mbps", "created"),
)

FILTERS = {
    "load": "load_percent",
    "users": "users_per_side",
    "rate": "rate_mbps",
    "seed": "seed",
    "world": "world",
    "testbed": "testbed",
    "delay": "queue_delay_ms_mean",
    "loss": "loss_percent",
    "marked": "mark_percent",
    "throughput": "throughput_mbps",
    "utilization": "utilisation",
    "median": "response_time_ms_p50",
    "p90": "response_time_ms_p90",
    "p99": "response_time_ms_p99",
    "created": "created",
    "tag": "tags",
    "note": "note",
}
"""The names in filters such as ``p99>300``, with their columns."""

_ANNOTATED = ("tags", "note")
"""The columns that people wrote, of a cell and of its experiment."""

MAX_COMPARED = 240
"""The largest number of cells in a comparison."""

AGES = {"1": "last 24 hours", "7": "last 7 days", "30": "last 30 days"}
"""Ages of cells in days, with their names."""

_TITLE = ("rate_mbps", "delay_ms", "load_percent", "rtt", "chain", "traffic", "testbed", "duration_s")
"""The columns in the title of an experiment."""

_SETTING = {
    "rate_mbps": "{:.4g} Mbit/s",
    "rate_back_mbps": "{:.4g} Mbit/s in reverse",
    "delay_ms": "link delay {:.4g} ms",
    "load_percent": "load {:.3g} %",
    "users_per_side": "{:,} users per side",
    "rtt": "RTT {}",
    "chain": "{}",
    "traffic": "{}",
    "workload": "{}",
    "device_fifo_packets": "device FIFO {:,}",
    "tcp": "TCP {}",
    "congestion": "{}",
    "ecn": "ECN {}",
    "testbed": "{}",
    "duration_s": "{:g} s",
}
"""Columns of a setting, with their texts."""

_FILTER = re.compile(rf"({'|'.join(FILTERS)})(<=|>=|<|>|=)(.*)")
_COMPARISONS = {"<": pl.Expr.lt, "<=": pl.Expr.le, ">": pl.Expr.gt, ">=": pl.Expr.ge, "=": pl.Expr.eq}

_COLUMNS = list(dict.fromkeys(("cell", "label", "signal", "valid", *TITLES, *DISTINGUISHING)))


@dataclass(frozen=True)
class View:
    """A request for rows of the table, which its address contains."""

    words: str = ""
    """Words of a scheme's name, and filters such as ``p99>300``."""
    age: str = ""
    """The largest age in days."""
    experiment: str = ""
    """The digest of the only experiment to show."""
    sort: str = ""
    """The column of the order, with ``-`` before it from large to small; by experiment if empty."""
    columns: Sequence[str] = DEFAULT_COLUMNS
    page: int = 1

    @classmethod
    def from_query(cls, query: QueryParams) -> View:
        """Return the view of an address.

        Raises
        ------
        Rejected
            When there is no such column, age or page.
        """
        columns = tuple(name for name in TITLES if name in query.getlist("column"))
        page = query.get("page", "1")
        words, age, experiment, sort = (query.get(name, "") for name in ("words", "age", "experiment", "sort"))
        if sort.removeprefix("-") not in ("", *TITLES):
            raise Rejected(400, f"sort: must be one of {', '.join(TITLES)}")
        if age not in ("", *AGES):
            raise Rejected(400, f"age: must be one of {', '.join(AGES)}")
        if not (page.isascii() and page.isdecimal() and int(page[:9]) > 0):
            raise Rejected(400, "page: must be a whole number from 1")
        return cls(words, age, experiment, sort, columns or DEFAULT_COLUMNS, int(page[:9]))

    def address(self, **changes: Any) -> str:
        """Return the address of this view with some changes, on its first page unless a page is given."""
        view = replace(self, **{"page": 1, **changes})
        values = {name: getattr(view, name) for name in ("words", "age", "experiment", "sort")}
        columns = [] if tuple(view.columns) == DEFAULT_COLUMNS else [("column", name) for name in view.columns]
        page = [("page", view.page)] if view.page > 1 else []
        return "/?" + urlencode([*((name, value) for name, value in values.items() if value), *columns, *page])

    def sorted_by(self, column: str) -> str:
        """Return the address of the order by a column: large values first, then reversed, then by experiment."""
        turns = {f"-{column}": column, column: ""}
        return self.address(sort=turns.get(self.sort, f"-{column}"))

    def conditions(self) -> Iterator[pl.Expr]:
        """Yield the conditions on rows.

        Raises
        ------
        ValueError
            When a filter's value is not of its column's type.
        """
        label = pl.col("label").str.to_lowercase()
        for word in self.words.lower().split():
            match = _FILTER.fullmatch(word)
            yield label.str.contains(word, literal=True) if match is None else _condition(*match.groups())
        if self.age:
            yield pl.col("created").dt.timestamp("ms") >= 1e3 * (time.time() - 86_400 * int(self.age))
        if self.experiment:
            yield pl.col("experiment") == self.experiment


def _condition(name: str, comparison: str, text: str) -> pl.Expr:
    column = FILTERS[name]
    if column in _ANNOTATED:
        return pl.col(column).str.contains(f" {text} " if column == "tags" else text, literal=True)
    kind = rows.SCHEMA[column]
    try:
        if kind == pl.String:
            return pl.col(column).str.to_lowercase().str.contains(text, literal=True)
        value = datetime.fromisoformat(text) if isinstance(kind, pl.Datetime) else float(text)
    except ValueError:
        expected = "a date such as 2026-01-31" if isinstance(kind, pl.Datetime) else "a number"
        raise ValueError(f"{name}: expected {expected}, got {text!r}") from None
    operand = pl.col(column).dt.replace_time_zone(None) if isinstance(kind, pl.Datetime) else pl.col(column)
    return _COMPARISONS[comparison](operand, value)


@dataclass(frozen=True)
class Group:
    """Rows of one experiment, or of several in an order by a column."""

    rows: Sequence[Mapping[str, Any]]
    experiment: str = ""
    """The digest of the one experiment."""
    title: str = ""
    total: int = 0
    """The number of the experiment's cells on all pages."""


@dataclass(frozen=True)
class CellPage:
    """One page of the table."""

    groups: Sequence[Group] = ()
    columns: Sequence[str] = ()
    total: int = 0
    """The number of cells on all pages."""
    pages: int = 1
    number: int = 1
    """The number of this page, from 1."""
    error: str = ""
    found: Sequence[str] = ()
    """The keys of the cells on all pages, if a comparison takes as many."""
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values in which the experiments of the cells differ and that no column shows, by cell; none for groups."""


class CellTable:
    """The cells of a store, read again when a cell has been added or removed.

    :meth:`aqmlab.Store.cells` compares the stamps of all files, half a second for 20,000 cells.
    """

    def __init__(self) -> None:
        self._cells = pl.DataFrame()
        self._keys: list[str] = []

    def page(self, store: Store, view: View, annotations: Mapping[str, Annotation] | None = None) -> CellPage:
        """Return a page of the view, the last one if there are fewer; filters also search the annotations."""
        try:
            cells = self.select(store, view, annotations)
        except ValueError as error:
            return CellPage(columns=view.columns, error=str(error))
        if cells.is_empty():
            return CellPage(columns=view.columns)
        pages = -(-cells.height // PAGE_ROWS)
        number = min(view.page, pages)
        start = (number - 1) * PAGE_ROWS
        found = cells["cell"].to_list() if cells.height <= MAX_COMPARED else ()
        page = CellPage((), view.columns, cells.height, pages, number, found=found)
        if view.sort:
            column = view.sort.removeprefix("-")
            ordered = cells.sort(column, descending=view.sort != column, nulls_last=True, maintain_order=True)
            shown = ordered.slice(start, PAGE_ROWS).to_dicts()
            differing = [name for name in _differing(cells) if name not in view.columns]
            settings = {row["cell"]: _texts(row, differing) for row in shown}
            return replace(page, groups=[Group(shown)], settings=settings)
        newest_first = pl.col("created").max().over("experiment")
        ordered = cells.sort(newest_first, "experiment", "label", "seed", descending=[True, False, False, False])
        return replace(page, groups=_groups(ordered, start))

    def select(self, store: Store, view: View, annotations: Mapping[str, Annotation] | None = None) -> pl.DataFrame:
        """Return the rows of all cells of the view.

        Raises
        ------
        ValueError
            When a filter's value is not of its column's type.
        """
        conditions = list(view.conditions())
        cells = self._read(store)
        if cells.is_empty():
            return cells
        return _annotated(cells, annotations or {}).filter(pl.lit(True), *conditions).drop(*_ANNOTATED)

    def has_experiment(self, store: Store, digest: str) -> bool:
        """Return true if there is a cell of the experiment."""
        cells = self._read(store)
        return not cells.is_empty() and digest in cells["experiment"]

    def _read(self, store: Store) -> pl.DataFrame:
        keys = store.keys()
        if keys != self._keys:
            self._cells, self._keys = store.cells(_COLUMNS), keys
        return self._cells


def _annotated(cells: pl.DataFrame, annotations: Mapping[str, Annotation]) -> pl.DataFrame:
    """Add the tags and notes of cells and of their experiments, in lower case, each tag between spaces."""
    texts = {
        "tags": {subject: f" {' '.join(found.tags)} ".lower() for subject, found in annotations.items()},
        "note": {subject: found.note.lower() for subject, found in annotations.items()},
    }
    return cells.with_columns(
        pl.concat_str(
            pl.col(subject).replace_strict(by_subject, default="", return_dtype=pl.String)
            for subject in ("cell", "experiment")
        ).alias(name)
        for name, by_subject in texts.items()
    )


def _differing(cells: pl.DataFrame) -> list[str]:
    """Return the columns of the setting that tell the cells apart."""
    is_implied = {
        "rate_back_mbps": cells["rate_back_mbps"].eq_missing(cells["rate_mbps"]).all(),
        "users_per_side": cells["load_percent"].null_count() == 0,
    }
    return [name for name in _SETTING if cells[name].n_unique() > 1 and not is_implied.get(name)]


def _groups(ordered: pl.DataFrame, start: int) -> list[Group]:
    """Return the rows of a page by experiment."""
    groups = []
    for shown in ordered.slice(start, PAGE_ROWS).partition_by("experiment", maintain_order=True):
        experiment = shown["experiment"][0]
        cells = ordered.filter(pl.col("experiment") == experiment)
        # The uncongested network has a link of its own.
        setting = cells.sort(pl.col("signal") == "none").row(0, named=True)
        groups.append(Group(shown.to_dicts(), experiment, title_of(setting), cells.height))
    return groups


def title_of(cell: Mapping[str, Any]) -> str:
    """Return the setting of a cell's experiment."""
    has_users = cell["load_percent"] is None and cell["users_per_side"]
    return ", ".join(_texts(cell, (*_TITLE, *(["users_per_side"] if has_users else []))))


def _texts(cell: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [_SETTING[name].format(cell[name]) for name in names if cell[name] is not None]


def text_of(name: str, value: Any) -> str:
    """Return a value of a column as text."""
    if value is None:
        return ""
    if name == "bytes":
        value = value / 1e6
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) >= 0.001 else "0"
    return f"{value:,}" if isinstance(value, int) else str(value)


def is_number(name: str) -> bool:
    """Return true if a column has numbers."""
    return rows.SCHEMA[name].is_numeric()


_SPARK_WIDTH, _SPARK_HEIGHT = 96, 24


def sparkline(result: Result) -> str:
    """Return the mean delay over the measurement window, of the direction with the longest one, from zero up."""
    delays = timeseries.downsample(result)
    longest = pl.col("delay_ms_mean").mean().over("link", "direction").rank("dense", descending=True)
    means = delays.filter(longest == 1).unique("time_s").sort("time_s")["delay_ms_mean"]
    scale = (_SPARK_HEIGHT - 2) / (max(means, default=0) or 1)
    step = _SPARK_WIDTH / timeseries.BINS
    points = " ".join(f"{step * index:.1f},{_SPARK_HEIGHT - 1 - scale * mean:.1f}" for index, mean in enumerate(means))
    line = f'<polyline points="{points}" fill="none" stroke="{PALETTE[-1]}" stroke-width="1.5"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SPARK_WIDTH} {_SPARK_HEIGHT}">{line}</svg>'
