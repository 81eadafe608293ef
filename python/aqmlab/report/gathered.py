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
from aqmlab.cells.calibration_model import known
from aqmlab.cells.cell import cells_of
from aqmlab.cells.differences import check_one_experiment, differences, differences_text, without_scheme
from aqmlab.results import grouping
from aqmlab.results.cells import BASELINE
from aqmlab.results.comparison import Comparison
from aqmlab.spec.experiment import Experiment
from aqmlab.stats import FEWEST
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
class Gathered:
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
        named: dict[str, list[Result]] = {}
        for result in self.valid:
            named.setdefault(result.cell.label, []).append(result)
        return named

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
        return bool(self.pairs) and len(next(iter(self.pairs.values()))) >= FEWEST

    @cached_property
    def paired(self) -> Comparison | None:
        """The paired comparison, if there are pairs."""
        return Comparison(tuple(each for of in self.pairs.values() for each in of), paired=True) if self.pairs else None

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


def gather(out: Location | str, choice: Choice) -> Gathered:
    """Return the selected cells.

    Raises
    ------
    SpecError
        When there is no such cell, all selected runs are invalid, or they belong to different experiments.
    """
    store = Store(out)
    kept = store.cells()
    named = [_named(kept, text, out) for text in choice.cells]
    rows = kept.filter(pl.col("cell").is_in(named)) if named else kept
    if choice.experiment is not None:
        rows = _of(rows, choice.experiment, out)
    rows = rows.filter(_wanted(choice))
    if rows.is_empty() or (choice.schemes and (rows["label"] == BASELINE).all()):
        raise SpecError(f"CELL: no such cell in {out}; aqmlab ls lists all cells")
    keys = [key for key in named if key in rows["cell"]] if named else _newest(rows)
    results = [found for key in dict.fromkeys(keys) if (found := store.kept(key)) is not None]
    if not named:
        results.sort(key=lambda result: (_rank(result, choice.schemes), grouping.started_at_s(result)))
    valid, invalid = grouping.split_valid(results)
    if not valid:
        raise SpecError("CELL: all runs are invalid live runs, which have no report; aqmlab ls --json has the reasons")
    by_scheme = grouping.by_scheme(valid)
    check_one_experiment(each.cell for each in by_scheme)
    return Gathered(by_scheme, invalid)


def _rank(result: Result, schemes: Sequence[str]) -> int:
    """Return the index of a scheme among the selected ones."""
    places = [place for place, name in enumerate(schemes) if name in (result.cell.label, result.cell.scheme)]
    return places[0] if places else len(schemes)


def _named(kept: pl.DataFrame, text: str, out: Location | str) -> str:
    name = Path(text).name
    found = [key for key in kept["cell"] if name and key.startswith(name)]
    if len(found) != 1:
        what = "no cell" if not found else f"the beginning of {len(found)} cells"
        raise SpecError(f"CELL: must be a cell of {out}, got {text!r}, which is {what}; aqmlab ls --paths lists them")
    return str(found[0])


def _wanted(choice: Choice) -> list[pl.Expr]:
    wanted = [pl.lit(True)]
    if choice.schemes:
        of = (pl.col("label"), pl.col("scheme"))
        named = pl.any_horizontal(each.is_in(list(choice.schemes)) for each in of)
        wanted.append(named | (pl.col("label") == BASELINE))
    if choice.load is not None:
        wanted.append((pl.col("load_percent") - choice.load).abs() < 1e-6)
    if choice.seeds is not None:
        wanted.append(pl.col("seed").is_in(list(choice.seeds)))
    return wanted


def _of(rows: pl.DataFrame, experiment: Experiment, out: Location | str) -> pl.DataFrame:
    """Return the cells of an experiment, with any scheme, results number and world.

    Raises
    ------
    SpecError
        When there are none, naming the difference of the newest cell.
    """
    (cell,) = cells_of(experiment, [1], known(out))
    found = _alike(rows, cell.row, ())
    # Experiments with other links may have the same uncongested network.
    if found.filter(pl.col("signal") != "none").is_empty():
        newest = json.loads(rows["spec"][-1]) if rows.height else cell.resolved
        different = differences_text(
            differences([json.loads(without_scheme(each)) for each in (cell.resolved, newest)])
        )
        hint = f"; the newest cell differs in {different}" if different else ""
        raise SpecError(f"SPEC: no cell in {out} is of this experiment{hint}")
    return found


def _newest(rows: pl.DataFrame) -> list[str]:
    """Return the cells of the newest comparison, the oldest first: they differ only in scheme and seed."""
    schemes = rows.filter(pl.col("signal") != "none")
    newest = (rows if schemes.is_empty() else schemes).row(-1, named=True)
    return _alike(rows, newest, ("results", "world", "kernel"))["cell"].to_list()


_OF_ONE_EXPERIMENT = ("users_per_side", "workload", "rtt", "traffic", "warmup_s", "duration_s")


def _alike(rows: pl.DataFrame, wanted: Mapping[str, Any], also: Iterable[str]) -> pl.DataFrame:
    """Return the cells of the same experiment as a row that also share some columns with it."""

    def same(names: Iterable[str]) -> pl.Expr:
        return pl.all_horizontal(pl.lit(True), *(pl.col(name).eq_missing(wanted[name]) for name in names))

    likely = rows.filter(same(also), same(["experiment"]) | same(_OF_ONE_EXPERIMENT))
    specs = {links: _without_scheme(wanted, links=links) for links in (False, True)}

    def is_of_experiment(row: Mapping[str, Any]) -> bool:
        # A cell of several experiments has the digest of the first one.
        links = row["signal"] != "none"
        return row["experiment"] == wanted["experiment"] or _without_scheme(row, links=links) == specs[links]

    return likely.filter([is_of_experiment(row) for row in likely.iter_rows(named=True)])


def _without_scheme(row: Mapping[str, Any], *, links: bool) -> str:
    return without_scheme(json.loads(row["spec"]), links=links)
