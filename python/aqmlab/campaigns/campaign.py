"""A campaign: the cells of a grid, which of them are there, and what they measured."""

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
from aqmlab.cells.calibration_model import Calibrations, known
from aqmlab.cells.cell import Cell, cells_of, work
from aqmlab.metrics.numbers import NUMBERS, OF_LINK, Number
from aqmlab.metrics.parts import Parts
from aqmlab.results.cells import BASELINE
from aqmlab.results.notes import notes
from aqmlab.running.progress import SweepProgress, is_wanted
from aqmlab.running.sweep import Watch
from aqmlab.running.validation import check_executor, check_out, check_seeds, check_workers
from aqmlab.stats import mean_interval
from aqmlab.storage import marker
from aqmlab.storage.location import Location, location
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from aqmlab.ui import console
from aqmlab.ui.messages import logger

_WITHOUT_CELLS = {"seed": pl.Int64, "cell": pl.String, "state": pl.String}
"""The columns of a campaign of which nothing is known but that."""


@dataclass(frozen=True)
class Planned:
    """A cell of a campaign, and where in the grid it stands."""

    point: Point
    cell: Cell


@dataclass(frozen=True, repr=False)
class Campaign:
    """The cells of a grid or of a shard of it."""

    planned: tuple[Planned, ...]
    out: Location
    numbers: tuple[Number, ...]
    """Numbers whose means are shown."""

    @cached_property
    def failures(self) -> list[Failure]:
        """The cells that failed, and why; not those that somebody has run well since."""
        kept = Failures(self.out).known()
        failed = [each.cell for each in self.planned if each.cell.key in kept]
        done = Store(self.out).found(failed)
        return [kept[key] for key in dict.fromkeys(cell.key for cell in failed) if key not in done]

    @cached_property
    def axes(self) -> list[str]:
        """What is varied: ``scheme`` and the paths."""
        return list(dict.fromkeys(path for each in self.planned for path in each.point))

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row for each cell, in the order of the grid.

        A column for each axis, ``seed``, ``cell``, its key, ``state`` (``done``, ``failed`` or ``missing``), and what
        it measured as :meth:`Store.cells <aqmlab.store.store.Store.cells>` has it, and each number that was asked
        for by its name; null where it is not done. Where the uncongested network is run beside them, ``unmet`` has
        ``closed_loop`` as well.
        """
        failed = {failure.cell for failure in self.failures}
        measured = self._with_numbers(Store(self.out).cells().drop("seed"))
        done = set(measured["cell"])
        rows = [
            {
                **_as_text({path: each.point.get(path) for path in self.axes}, self._mixed),
                "seed": each.cell.seed,
                "cell": each.cell.key,
                "state": "done" if each.cell.key in done else "failed" if each.cell.key in failed else "missing",
            }
            for each in self.planned
        ]
        # Of more shards than cells some have none.
        planned = pl.DataFrame(rows, schema=None if rows else _WITHOUT_CELLS, infer_schema_length=None)
        # The scheme as it stands on the axis is the one that is meant.
        cells = planned.join(measured.drop(*(set(self.axes) & set(measured.columns))), on="cell", how="left")
        return consistency.closed_loop_failures([(each.point, each.cell) for each in self.planned], cells)

    @property
    def notes(self) -> list[str]:
        """Numbers that do not fit together, see ``unmet`` in the cells, and the notes of a comparison on the points."""
        return [*consistency.notes(self.cells), *notes(self._by_point)]

    @cached_property
    def _by_point(self) -> list[Result]:
        """The results of those that are done, each labelled with its point."""
        found = Store(self.out).found([each.cell for each in self.planned])
        return [
            replace(result, cell=replace(each.cell, label=table.said(each.point) or each.cell.label))
            for each in self.planned
            if (result := found.get(each.cell.key)) is not None
        ]

    @cached_property
    def means(self) -> pl.DataFrame:
        """A row for each point: means over its seeds.

        A column for each axis, ``seeds``, how many are done, and for each measure its mean and, as ``<measure>_half``,
        half the width of its 95 % interval (Student's t), null for a single seed.
        """
        names = [number.name for number in self.numbers]
        rows = []
        for key, some in self.cells.group_by(self.axes or ["label"], maintain_order=True):
            done = some.filter(pl.col("state") == "done")
            row: dict[str, Any] = dict(zip(self.axes or ["label"], key, strict=True)) | {"seeds": done.height}
            for name in names:
                values = done[name].drop_nulls().cast(pl.Float64).to_numpy()
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
        """The axes whose values are of several kinds, or lists or tables, which are text in a table."""
        kinds: dict[str, set[type]] = {}
        for each in self.planned:
            for path, value in each.point.items():
                kinds.setdefault(path, set()).add(type(value))
        return frozenset(
            path for path, of in kinds.items() if (len(of) > 1 and of != {int, float}) or of & {list, dict}
        )

    def __repr__(self) -> str:
        return "\n".join([console.plain(table.means_table(self.means, self.axes, self.numbers)), *self.notes])


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
    """Run the cells of a grid that the store does not have yet. One that fails is kept as failed; the others go on.

    Parameters
    ----------
    grid
        What to run, or the TOML file that says so.
    seeds
        One cell for each point and seed.
    out
        The results directory, or its URL such as ``"s3://bucket/prefix"``; cells it has are not run again.
    workers
        Cells run at a time; by default as many as this process may use processors.
    executor
        What runs them instead of this process: any executor of :mod:`concurrent.futures` whose workers see ``out``,
        such as that of a Dask client.
    shard
        ``"3/16"``: the third of sixteen parts of the grid, the same on every machine.
    limit_s
        A cell that takes longer than so many seconds of wall time fails.
    retry
        Whether cells that have failed before are run again.
    measures
        Names of numbers whose means are shown, as for :meth:`aqmlab.Comparison.frame`; by default a few, of each
        direction of the link unless both are alike.
    progress
        Whether it is told on standard error how far the cells are; by default at a terminal and in a notebook.

    Raises
    ------
    SpecError
        When the grid asks for something impossible, naming the point, or the limit is not above 0.
    StoreError
        When a file cannot be written, as on a full disk; nothing is lost of what was there.

    Examples
    --------
    >>> grid = Grid(schemes=["droptail", "pi"], axes={"users.load": [80, 90, 98]})
    >>> sweep(grid, seeds=[1]).means  # doctest: +SKIP
    """
    whole = grid if isinstance(grid, Grid) else Grid.from_toml(grid)
    check_workers(workers)
    check_executor(executor)
    how = Execution(workers=workers, executor=executor, limit_s=limit_s, retry=retry)
    planned = plan(whole, seeds, known(check_out(out)), shard=None if shard is None else Shard.parse(shard))
    campaign = Campaign(planned, location(out), chosen(measures, planned))
    run(campaign, how, progress=is_wanted(progress))
    return campaign


def chosen(measures: Sequence[str], planned: Sequence[Planned]) -> tuple[Number, ...]:
    """Return the numbers of these names; without names the brief ones, of each direction unless both are alike.

    Raises
    ------
    SpecError
        When there is none of a name; the message lists those there are.
    """
    cells = [each.cell for each in planned]
    parts = Parts.of_cells(cells)
    return tuple(parts.find(name, "measures") for name in dict.fromkeys(measures or _brief(cells, parts)))


def _brief(cells: Sequence[Cell], parts: Parts) -> list[str]:
    """Return the names of the brief numbers that these cells can have."""
    can_mark = any(cell.signal not in ("none", "drop") for cell in cells)
    brief = [number.name for number in NUMBERS.values() if number.is_brief and (can_mark or number.name != "marks")]
    if all(_is_symmetric(cell.resolved) for cell in cells):
        return brief
    of_link = [f"{name} {direction}" for name in brief if name in OF_LINK for direction in parts.directions]
    of_users = [name for name in brief if name not in OF_LINK]
    return [*of_link, *of_users] if any(cell.users_per_side for cell in cells) else of_link


def _is_symmetric(resolved: Mapping[str, Any]) -> bool:
    """Say whether a spec is the same in both directions, so that a mean over them is of two like numbers."""
    links = [resolved["link"], *resolved.get("chain", ())]
    one_way = any("rate_back" in link or "queue_back" in link for link in links) or "queue_back" in resolved
    return not (one_way or resolved.get("sources") or resolved["users"].get("sides", 2) == 1)


def plan(
    whole: Grid, seeds: Iterable[int], calibrations: Calibrations, *, shard: Shard | None = None
) -> tuple[Planned, ...]:
    """Return the cells of a grid, or of a shard of it; what is impossible is refused before anything runs.

    Raises
    ------
    SpecError
        When a point is impossible, and no leave is given to skip it.
    """
    planned = tuple(_planned(whole, check_seeds(seeds), calibrations))
    if not planned:
        raise SpecError("skip_impossible: leaves no point")
    if shard is None:
        return planned
    mine = {cell.key for cell in shard.choose([each.cell for each in planned])}
    return tuple(each for each in planned if each.cell.key in mine)


def _planned(whole: Grid, seeds: Sequence[int], calibrations: Calibrations) -> Iterator[Planned]:
    experiment, points = whole.experiment(), whole.points()
    if whole.baseline:
        alone = {json.dumps(rest): rest for rest in map(grid.without_queue, points)}
        points = [*({grid.SCHEME: BASELINE, **rest} for rest in alone.values()), *points]
    for point in points:
        is_baseline = whole.baseline and point.get(grid.SCHEME) == BASELINE
        try:
            case = grid.case_at(whole, experiment, grid.without_queue(point) if is_baseline else point)
            try:
                cells = cells_of(
                    case.experiment,
                    seeds,
                    calibrations,
                    label=BASELINE if is_baseline else case.label,
                    uncongested=is_baseline,
                    compared_in=case.compared_in,
                    variant=case.variant,
                )
            except SpecError as error:
                raise SpecError(f"{grid.point_label(point)}: {error}") from None
        except SpecError as error:
            if not whole.skip_impossible:
                raise
            logger.warning("left out: %s", error)
            continue
        for cell in cells:
            yield Planned(point, cell)


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How missing cells are run; see :func:`sweep`."""

    workers: int | None = None
    executor: Executor | None = None
    limit_s: float | None = None
    retry: bool = False

    def __post_init__(self) -> None:
        if self.limit_s is not None and not self.limit_s > 0:
            raise SpecError(f"limit: must be above 0 s, got {self.limit_s:g}")


def run(campaign: Campaign, how: Execution, *, progress: bool) -> None:
    """Run what is missing of a campaign, and show how far it is if that is wanted."""
    # The directory may belong to somebody else, which is to be known before anything runs.
    marker.claim(campaign.out)
    store, failures = Store(campaign.out), Failures(campaign.out)
    distinct = list({each.cell.key: each.cell for each in campaign.planned}.values())
    kept, known = store.found(distinct, missing_are_run=True), failures.known()
    if how.retry:
        for cell in distinct:
            if cell.key in known:
                failures.forget(cell)
        known = {}
    # The longest first, so that no worker is left alone with one at the end.
    missing = sorted(
        (cell for cell in distinct if cell.key not in kept and cell.key not in known), key=work, reverse=True
    )
    with (
        executors.chosen(
            how.executor,
            disciplines=(name for cell in missing for name in cell.disciplines),
            out=campaign.out,
            workers=how.workers,
        ) as executor,
        SweepProgress(distinct, kept) if progress else nullcontext() as shown,
    ):
        watch: Watch = shown or (lambda cell, now, end: None)

        def failed(cell: Cell, error: BaseException) -> None:
            failure = Failure.of(cell, error)
            failures.keep(failure)
            if shown is not None:
                shown.failed(cell, failure.error)

        executors.run_cells_with(
            missing,
            store,
            executor=executor,
            workers=how.workers,
            failed=failed,
            watch=watch,
            limit_s=how.limit_s,
        )
