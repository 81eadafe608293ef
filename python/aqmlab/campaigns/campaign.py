"""Campaigns: the cells of a grid with their states and measures; finished cells are checkpoints to resume from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab._core import SpecError
from aqmlab.campaigns import consistency, executors, grid, table
from aqmlab.campaigns.axes import Value, as_text
from aqmlab.campaigns.failures import Failure, Failures
from aqmlab.campaigns.grid import Grid, Point
from aqmlab.campaigns.shards import Shard
from aqmlab.cells.calibration_model import Calibrations, load_calibrations
from aqmlab.cells.cell import Cell, cells_of, work
from aqmlab.metrics.numbers import LINK_NUMBERS, NUMBERS, Number
from aqmlab.metrics.parts import Parts
from aqmlab.results.cells import BASELINE
from aqmlab.results.notes import notes
from aqmlab.running.progress import SweepProgress, is_wanted
from aqmlab.running.sweep import Watch
from aqmlab.running.validation import check_executor, check_out, check_seeds, check_workers
from aqmlab.spec import directions
from aqmlab.spec.capacity import rates
from aqmlab.stats import mean_interval
from aqmlab.storage import marker
from aqmlab.storage.location import Location, location
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from aqmlab.ui import console
from aqmlab.ui.messages import logger

_WITHOUT_CELLS = {"seed": pl.Int64, "cell": pl.String, "state": pl.String}
"""The columns of a campaign without cells."""


@dataclass(frozen=True)
class PlannedCell:
    """A cell of a campaign, with its point in the grid."""

    point: Point
    cell: Cell


@dataclass(frozen=True, repr=False)
class Campaign:
    """The cells of a grid or of a shard of it."""

    planned: tuple[PlannedCell, ...]
    out: Location
    numbers: tuple[Number, ...]
    """The numbers whose means are shown."""

    @cached_property
    def failures(self) -> list[Failure]:
        """The failed cells with their errors, without those that have completed since."""
        failures_by_key = Failures(self.out).load()
        failed = [planned.cell for planned in self.planned if planned.cell.key in failures_by_key]
        stored = Store(self.out).find(failed)
        return [failures_by_key[key] for key in dict.fromkeys(cell.key for cell in failed) if key not in stored]

    @cached_property
    def axes(self) -> list[str]:
        """The names of the axes: ``scheme`` and the paths."""
        return list(dict.fromkeys(path for planned in self.planned for path in planned.point))

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row for each cell, in the order of the grid.

        There is a column for each axis, and ``seed``, ``cell`` (its key) and ``state`` (``done``, ``failed`` or
        ``missing``). The columns of :meth:`Store.cells <aqmlab.store.store.Store.cells>` and the requested numbers, by
        name, follow; these are null unless the state is ``done``. With the uncongested network, ``unmet`` also has
        ``closed_loop``.
        """
        failed = {failure.cell for failure in self.failures}
        measured = self._with_numbers(Store(self.out).cells().drop("seed"))
        stored = set(measured["cell"])
        rows = [
            {
                **_as_text({path: planned.point.get(path) for path in self.axes}, self._mixed),
                "seed": planned.cell.seed,
                "cell": planned.cell.key,
                "state": "done"
                if planned.cell.key in stored
                else "failed"
                if planned.cell.key in failed
                else "missing",
            }
            for planned in self.planned
        ]
        # If there are more shards than cells, some shards have none.
        plan = pl.DataFrame(rows, schema=None if rows else _WITHOUT_CELLS, infer_schema_length=None)
        # The axis has the scheme as typed in the grid.
        cells = plan.join(measured.drop(*(set(self.axes) & set(measured.columns))), on="cell", how="left")
        return consistency.closed_loop_failures([(planned.point, planned.cell) for planned in self.planned], cells)

    @property
    def notes(self) -> list[str]:
        """Failed checks, see ``unmet`` in the cells, and the notes of a comparison of the points."""
        return [*consistency.notes(self.cells), *notes(self._by_point)]

    @cached_property
    def _by_point(self) -> list[Result]:
        """The results of completed cells, each labelled with its point."""
        results = Store(self.out).find([planned.cell for planned in self.planned])
        return [
            replace(result, cell=replace(planned.cell, label=table.point_text(planned.point) or planned.cell.label))
            for planned in self.planned
            if (result := results.get(planned.cell.key)) is not None
        ]

    @cached_property
    def means(self) -> pl.DataFrame:
        """A row for each point with means over its seeds.

        There is a column for each axis, and ``seeds``, the number of completed seeds. Each measure has its mean and
        ``<measure>_half``, half of the width of its 95 % interval (Student's t), null for a single seed.
        """
        names = [number.name for number in self.numbers]
        rows = []
        for key, rows_of_point in self.cells.group_by(self.axes or ["label"], maintain_order=True):
            stored = rows_of_point.filter(pl.col("state") == "done")
            row: dict[str, Any] = dict(zip(self.axes or ["label"], key, strict=True)) | {"seeds": stored.height}
            for name in names:
                values = stored[name].drop_nulls().cast(pl.Float64).to_numpy()
                mean, low, _ = mean_interval(values)
                row[name] = mean if len(values) else None
                row[f"{name}_half"] = mean - low if len(values) > 1 else None
            rows.append(row)
        return pl.DataFrame(
            rows, schema=None if rows else {"label": pl.String, "seeds": pl.Int64}, infer_schema_length=None
        )

    def _with_numbers(self, measured: pl.DataFrame) -> pl.DataFrame:
        rows = [
            {"cell": key, **{number.name: number.read(result.summary) for number in self.numbers}}
            for key, result in {result.cell.key: result for result in self._by_point}.items()
        ]
        schema = {"cell": pl.String, **{number.name: pl.Float64 for number in self.numbers}}
        return measured.join(pl.DataFrame(rows, schema=schema), on="cell", how="left")

    @cached_property
    def _mixed(self) -> frozenset[str]:
        """The axes with values of several types, or with lists or tables, which become text in a table."""
        kinds: dict[str, set[type]] = {}
        for planned in self.planned:
            for path, value in planned.point.items():
                kinds.setdefault(path, set()).add(type(value))
        return frozenset(
            path for path, types in kinds.items() if (len(types) > 1 and types != {int, float}) or types & {list, dict}
        )

    @property
    def means_table(self) -> table.MeansTable:
        """The means as a table for a console."""
        return table.MeansTable(self.means, self.cells, self.axes, self.numbers)

    def __repr__(self) -> str:
        return "\n".join([console.render_text(self.means_table), *self.notes])


def _as_text(values: Mapping[str, Value | None], mixed: frozenset[str]) -> dict[str, Value | None]:
    return {path: as_text(value) if path in mixed and value is not None else value for path, value in values.items()}


def sweep(
    grid: Grid | Path | str,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    out: Path | str = "results",
    workers: int | None = None,
    executor: Executor | None = None,
    shard: str | None = None,
    limit_s: float | None = None,
    retry: bool = False,
    measures: Sequence[str] = (),
    progress: bool | None = None,
) -> Campaign:
    """Run the missing cells of a grid. The store records a failed cell, and the others continue.

    Parameters
    ----------
    grid
        The grid, or its TOML file.
    seeds
        The seeds; there is one cell for each point and seed.
    out
        The results directory, or its URL, such as ``"s3://bucket/prefix"``; stored cells are not run again.
    workers
        The number of cells to run at a time; by default the number of processors that this process may use.
    executor
        Run the cells by an executor of :mod:`concurrent.futures` whose workers see ``out``, such as that of a Dask
        client, instead of in this process.
    shard
        Run one part of the grid: ``"3/16"`` is the third of sixteen parts, the same on every machine.
    limit_s
        The time limit of a cell in seconds of wall time; a longer one fails.
    retry
        Run failed cells again.
    measures
        The names of numbers whose means are shown, as for :meth:`aqmlab.Comparison.frame`. The default is a few
        numbers, for each direction of the link unless both are equal.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Raises
    ------
    SpecError
        When the grid is invalid, naming the point, or the limit is not above 0.
    StoreError
        When a file cannot be written, for example on a full disk; the store loses nothing.

    Examples
    --------
    >>> grid = Grid(schemes=["droptail", "pi"], axes={"users.load": [80, 90, 98]})
    >>> sweep(grid, seeds=[1]).means  # doctest: +SKIP
    """
    full_grid = grid if isinstance(grid, Grid) else Grid.from_toml(grid)
    check_workers(workers)
    check_executor(executor)
    execution = Execution(workers=workers, executor=executor, limit_s=limit_s, retry=retry)
    planned = plan(
        full_grid, seeds, load_calibrations(check_out(out)), shard=None if shard is None else Shard.parse(shard)
    )
    campaign = Campaign(planned, location(out), select_numbers(measures, planned))
    run(campaign, execution, progress=is_wanted(progress))
    return campaign


def select_numbers(measures: Sequence[str], planned: Sequence[PlannedCell]) -> tuple[Number, ...]:
    """Return the numbers of these names; by default the brief ones, for each direction unless both are equal.

    Raises
    ------
    SpecError
        When there is no such number; the message lists the numbers.
    """
    cells = [planned_cell.cell for planned_cell in planned]
    parts = Parts.from_cells(cells)
    return tuple(parts.find(name, "measures") for name in dict.fromkeys(measures or _brief(cells, parts)))


def _brief(cells: Sequence[Cell], parts: Parts) -> list[str]:
    """Return the names of the brief numbers that these cells can have."""
    can_mark = any(cell.signal not in ("none", "drop") for cell in cells)
    names = [number.name for number in NUMBERS.values() if number.is_brief and (can_mark or number.name != "marks")]
    if all(_is_symmetric(cell.resolved) for cell in cells):
        return names
    of_link = [f"{name} {direction}" for name in names if name in LINK_NUMBERS for direction in parts.directions]
    of_users = [name for name in names if name not in LINK_NUMBERS]
    return [*of_link, *of_users] if any(cell.users_per_side for cell in cells) else of_link


def _is_symmetric(resolved: Mapping[str, Any]) -> bool:
    """Return true if a spec is the same in both directions, so that a mean over them is meaningful."""
    links = directions.link_tables(resolved)
    all_rates = [part["rate"] for link in links for part in (link, *link.get("rate_changes", ()))]
    is_one_way = any("queue_back" in link for link in links) or None in map(rates.common, all_rates)
    return not (is_one_way or resolved.get("sources") or resolved["users"].get("sides", 2) == 1)


def plan(
    full_grid: Grid, seeds: Iterable[int], calibrations: Calibrations, *, shard: Shard | None = None
) -> tuple[PlannedCell, ...]:
    """Return the cells of a grid, or of one of its shards, and check them before anything runs.

    Raises
    ------
    SpecError
        When a point is impossible, and the grid does not skip such points.
    """
    planned = tuple(_planned(full_grid, check_seeds(seeds), calibrations))
    if not planned:
        raise SpecError("skip_impossible: all points are impossible")
    if shard is None:
        return planned
    keys = {cell.key for cell in shard.select([planned_cell.cell for planned_cell in planned])}
    return tuple(planned_cell for planned_cell in planned if planned_cell.cell.key in keys)


def _planned(full_grid: Grid, seeds: Sequence[int], calibrations: Calibrations) -> Iterator[PlannedCell]:
    experiment, points = full_grid.experiment(), full_grid.points()
    if full_grid.baseline:
        others = {json.dumps(rest): rest for rest in map(grid.without_queue, points)}
        points = [*({grid.SCHEME: BASELINE, **rest} for rest in others.values()), *points]
    for point in points:
        is_baseline = full_grid.baseline and point.get(grid.SCHEME) == BASELINE
        try:
            case = grid.case_at(full_grid, experiment, grid.without_queue(point) if is_baseline else point)
            try:
                cells = cells_of(
                    case.experiment,
                    seeds,
                    calibrations,
                    label=BASELINE if is_baseline else case.label,
                    uncongested=is_baseline,
                    comparison_experiment=case.comparison_experiment,
                    variant=case.variant,
                )
            except SpecError as error:
                raise SpecError(f"{grid.point_label(point)}: {error}") from None
        except SpecError as error:
            if not full_grid.skip_impossible:
                raise
            logger.warning("left out: %s", error)
            continue
        for cell in cells:
            yield PlannedCell(point, cell)


@dataclass(frozen=True, kw_only=True)
class Execution:
    """The way to run missing cells; see :func:`sweep`."""

    workers: int | None = None
    executor: Executor | None = None
    limit_s: float | None = None
    retry: bool = False

    def __post_init__(self) -> None:
        if self.limit_s is not None and not self.limit_s > 0:
            raise SpecError(f"limit: must be above 0 s, got {self.limit_s:g}")


def run(campaign: Campaign, execution: Execution, *, progress: bool) -> None:
    """Run the missing cells of a campaign, with or without progress."""
    # Refuse a directory with other files before anything runs.
    marker.claim(campaign.out)
    store, failures = Store(campaign.out), Failures(campaign.out)
    distinct = list({planned.cell.key: planned.cell for planned in campaign.planned}.values())
    stored, known_failures = store.find(distinct, will_run_missing=True), failures.load()
    if execution.retry:
        for cell in distinct:
            if cell.key in known_failures:
                failures.remove(cell)
        known_failures = {}
    # The longest cells first, so that all workers finish at nearly the same time.
    missing = sorted(
        (cell for cell in distinct if cell.key not in stored and cell.key not in known_failures), key=work, reverse=True
    )
    with (
        executors.choose_executor(
            execution.executor,
            custom=(name for cell in missing for name in cell.custom_classes),
            out=campaign.out,
            workers=execution.workers,
        ) as executor,
        SweepProgress(distinct, stored) if progress else nullcontext() as progress_bar,
    ):
        watch: Watch = progress_bar or (lambda cell, now, end: None)

        def on_failure(cell: Cell, error: BaseException) -> None:
            failure = Failure.from_error(cell, error)
            failures.add(failure)
            if progress_bar is not None:
                progress_bar.failed(cell, failure.error)

        executors.run_cells_with(
            missing,
            store,
            executor=executor,
            workers=execution.workers,
            on_failure=on_failure,
            watch=watch,
            limit_s=execution.limit_s,
        )
