"""The selection of a report: cells of a store, and those of them that can be compared seed by seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab._core import SpecError
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import cells_of
from aqmlab.cells.differences import check_one_experiment, differences, differences_text, without_scheme
from aqmlab.results import grouping
from aqmlab.results.cells import BASELINE
from aqmlab.results.comparison import Comparison
from aqmlab.spec.experiment import Experiment
from aqmlab.stats import MIN_SEEDS
from aqmlab.storage.location import Location
from aqmlab.store.result import Result
from aqmlab.store.store import Store


@dataclass(frozen=True)
class Choice:
    """The criteria of a selection; without any it is the newest comparison."""

    cells: Sequence[str] = ()
    """Keys of cells, unique prefixes of keys, or directories of cells."""
    schemes: Sequence[str] = ()
    """Schemes as typed, or names of disciplines; others are compared with the first one. The uncongested network is
    always included."""
    load: float | None = None
    seeds: Sequence[int] | None = None
    experiment: Experiment | None = None
    """Select cells of this experiment, under any scheme."""


@dataclass(frozen=True)
class Selection:
    """The cells of a report."""

    valid: tuple[Result, ...]
    """The valid results by scheme, the uncongested network first."""
    invalid: tuple[Result, ...]
    """The invalid live runs, from which nothing is computed."""

    @cached_property
    def comparison(self) -> Comparison:
        """The comparison of all valid results."""
        return Comparison(self.valid)

    @cached_property
    def by_label(self) -> dict[str, list[Result]]:
        """The valid results by label."""
        by_label: dict[str, list[Result]] = {}
        for result in self.valid:
            by_label.setdefault(result.cell.label, []).append(result)
        return by_label

    @property
    def labels(self) -> list[str]:
        """The labels of the schemes without the baseline; others are compared with the first one."""
        return [label for label in self.by_label if label != BASELINE]

    @property
    def is_one_seed(self) -> bool:
        """True if each scheme has one cell, all with the same seed."""
        return self._is_one_world and len({result.cell.seed for result in self.valid}) == 1

    @cached_property
    def pairs(self) -> dict[str, list[Result]]:
        """The cells with the common seeds of all schemes, by label; none for fewer than two common seeds."""
        if len(self.labels) < 2 or not self._is_one_world:
            return {}
        seeds = [{result.cell.seed for result in self.by_label[label]} for label in self.labels]
        common = set.intersection(*seeds)
        if len(common) < 2:
            return {}
        return {
            label: [result for result in self.by_label[label] if result.cell.seed in common] for label in self.labels
        }

    @property
    def has_enough_pairs(self) -> bool:
        """True if there are enough pairs for a paired comparison."""
        return bool(self.pairs) and len(next(iter(self.pairs.values()))) >= MIN_SEEDS

    @cached_property
    def paired(self) -> Comparison | None:
        """The paired comparison, if there are pairs."""
        if not self.pairs:
            return None
        return Comparison(tuple(result for results in self.pairs.values() for result in results), paired=True)

    @cached_property
    def schemes(self) -> list[dict[str, Any]]:
        """The records of all schemes, with paired differences from the first if there are pairs."""
        schemes = self.comparison.schemes
        if self.paired is not None:
            differences = {scheme["label"]: scheme["paired"] for scheme in self.paired.schemes if "paired" in scheme}
            for scheme in schemes:
                if scheme["label"] in differences:
                    scheme["paired"] = differences[scheme["label"]]
        return schemes

    @property
    def _is_one_world(self) -> bool:
        return len({result.cell.kernel for result in self.valid}) == 1


def select(out: Location | str, choice: Choice) -> Selection:
    """Return the selected cells.

    Raises
    ------
    SpecError
        When there is no such cell, all selected runs are invalid, or they belong to different experiments.
    """
    store = Store(out)
    cells = store.cells()
    given_keys = [_matching_key(cells, text, out) for text in choice.cells]
    rows = cells.filter(pl.col("cell").is_in(given_keys)) if given_keys else cells
    if choice.experiment is not None:
        rows = _of_experiment(rows, choice.experiment, out)
    rows = rows.filter(_conditions(choice))
    if rows.is_empty() or (choice.schemes and (rows["label"] == BASELINE).all()):
        raise SpecError(f"CELL: no such cell in {out}; aqmlab ls lists all cells")
    keys = [key for key in given_keys if key in rows["cell"]] if given_keys else _newest(rows)
    results = [result for key in dict.fromkeys(keys) if (result := store.get_by_key(key)) is not None]
    if not given_keys:
        results.sort(key=lambda result: (_rank(result, choice.schemes), grouping.started_at_s(result)))
    valid, invalid = grouping.split_valid(results)
    if not valid:
        raise SpecError("CELL: all runs are invalid live runs, which have no report; aqmlab ls --json has the reasons")
    by_scheme = grouping.by_scheme(valid)
    check_one_experiment(result.cell for result in by_scheme)
    return Selection(by_scheme, invalid)


def _rank(result: Result, schemes: Sequence[str]) -> int:
    """Return the index of a scheme among the selected ones."""
    indices = [index for index, name in enumerate(schemes) if name in (result.cell.label, result.cell.scheme)]
    return indices[0] if indices else len(schemes)


def _matching_key(cells: pl.DataFrame, text: str, out: Location | str) -> str:
    prefix = Path(text).name
    keys = [key for key in cells["cell"] if prefix and key.startswith(prefix)]
    if len(keys) != 1:
        problem = "no cell" if not keys else f"the prefix of {len(keys)} cells"
        raise SpecError(
            f"CELL: must be a cell of {out}, got {text!r}, which is {problem}; aqmlab ls --paths lists them"
        )
    return str(keys[0])


def _conditions(choice: Choice) -> list[pl.Expr]:
    conditions = [pl.lit(True)]
    if choice.schemes:
        columns = (pl.col("label"), pl.col("scheme"))
        has_scheme = pl.any_horizontal(column.is_in(list(choice.schemes)) for column in columns)
        conditions.append(has_scheme | (pl.col("label") == BASELINE))
    if choice.load is not None:
        conditions.append((pl.col("load_percent") - choice.load).abs() < 1e-6)
    if choice.seeds is not None:
        conditions.append(pl.col("seed").is_in(list(choice.seeds)))
    return conditions


def _of_experiment(rows: pl.DataFrame, experiment: Experiment, out: Location | str) -> pl.DataFrame:
    """Return the cells of an experiment, with any scheme, results number and world.

    Raises
    ------
    SpecError
        When there are none, naming the difference of the newest cell.
    """
    (cell,) = cells_of(experiment, [1], load_calibrations(out))
    cells = _of_same_experiment(rows, cell.row, ())
    # Experiments with other links may have the same uncongested network.
    if cells.filter(pl.col("signal") != "none").is_empty():
        newest = json.loads(rows["spec"][-1]) if rows.height else cell.resolved
        difference = differences_text(
            differences([json.loads(without_scheme(spec)) for spec in (cell.resolved, newest)])
        )
        hint = f"; the newest cell differs in {difference}" if difference else ""
        raise SpecError(f"SPEC: no cell in {out} is of this experiment{hint}")
    return cells


def _newest(rows: pl.DataFrame) -> list[str]:
    """Return the cells of the newest comparison, the oldest first: they differ only in scheme and seed."""
    schemes = rows.filter(pl.col("signal") != "none")
    newest = (rows if schemes.is_empty() else schemes).row(-1, named=True)
    return _of_same_experiment(rows, newest, ("results", "world", "kernel"))["cell"].to_list()


_EXPERIMENT_COLUMNS = ("users_per_side", "workload", "rtt", "traffic", "warmup_s", "duration_s")


def _of_same_experiment(rows: pl.DataFrame, reference: Mapping[str, Any], common: Iterable[str]) -> pl.DataFrame:
    """Return the cells of the same experiment as a reference row that also have these columns in common with it."""

    def equal(columns: Iterable[str]) -> pl.Expr:
        return pl.all_horizontal(pl.lit(True), *(pl.col(name).eq_missing(reference[name]) for name in columns))

    candidates = rows.filter(equal(common), equal(["experiment"]) | equal(_EXPERIMENT_COLUMNS))
    specs = {links: _without_scheme(reference, links=links) for links in (False, True)}

    def is_of_experiment(row: Mapping[str, Any]) -> bool:
        # A cell of several experiments has the digest of the first one.
        links = row["signal"] != "none"
        return row["experiment"] == reference["experiment"] or _without_scheme(row, links=links) == specs[links]

    return candidates.filter([is_of_experiment(row) for row in candidates.iter_rows(named=True)])


def _without_scheme(row: Mapping[str, Any], *, links: bool) -> str:
    return without_scheme(json.loads(row["spec"]), links=links)
