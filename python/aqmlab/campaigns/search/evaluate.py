"""Evaluation of settings of a discipline under several seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from aqmlab._core import SpecError
from aqmlab.campaigns import executors
from aqmlab.campaigns.failures import one_line
from aqmlab.campaigns.search import space
from aqmlab.campaigns.search.objectives import Objective
from aqmlab.campaigns.search.space import Space
from aqmlab.cells.calibration_model import Calibrations, load_calibrations
from aqmlab.cells.cell import Cell
from aqmlab.metrics.parts import Parts
from aqmlab.results.cells import variant_cells
from aqmlab.running import checks
from aqmlab.running.sweep import FailureCallback
from aqmlab.running.validation import check_executor, check_experiment, check_out, check_workers
from aqmlab.spec import schemes, testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.schemes import Scheme
from aqmlab.spec.variants import parsing
from aqmlab.spec.variants.variant import VARIANT_SEPARATOR, Variant
from aqmlab.storage.location import Location
from aqmlab.store.store import Store
from aqmlab.ui.messages import logger

Values = NDArray[np.float64]
"""A number for each seed."""


@dataclass
class Evaluator:
    """The context in which settings of a scheme are evaluated."""

    variant: Variant
    """The variant as given."""
    scheme: Scheme
    """The scheme of the variant, or that of the experiment."""
    space: Space
    objectives: tuple[Objective, ...]
    experiment: Experiment
    out: Location
    workers: int | None
    executor: Executor | None
    errors: list[str] = field(default_factory=list)
    """The reasons why settings could not be run."""
    failed_checks: dict[str, set[str]] = field(default_factory=dict)
    """The keys of cells that fail a check, by law."""
    keys: set[str] = field(default_factory=set)
    """The keys of the evaluated cells."""

    @classmethod
    def create(
        cls,
        scheme: str,
        over: str,
        objectives: Callable[[Parts], tuple[Objective, ...]],
        *,
        experiment: Experiment | None,
        out: Path | str,
        workers: int | None,
        executor: Executor | None,
    ) -> Self:
        """Return the trial of these arguments; the default experiment is that of the papers.

        ``objectives`` gets the parts of the traffic.

        Raises
        ------
        SpecError
            When an argument has a wrong type, or the discipline has no such parameters.
        """
        base = Experiment(testbed=testbeds.PAPERS) if experiment is None else experiment
        check_experiment(base)
        parsing.check(base)
        variant = parsing.parse(scheme, base)
        start = variant.scheme or Scheme(variant.label, base.queue, None)
        ranges = space.read(start, over)
        check_workers(workers)
        check_executor(executor)
        location = check_out(out)
        cells = variant_cells(variant, base, [1], load_calibrations(location))
        return cls(variant, start, ranges, objectives(Parts.from_cells(cells)), base, location, workers, executor)

    @contextmanager
    def with_executor(self) -> Iterator[Self]:
        """Return the trial with one executor for all of its cells, because processes take a second to start."""
        cells = variant_cells(self.variant, self.experiment, [1], load_calibrations(self.out))
        with executors.choose_executor(
            self.executor,
            custom=set().union(*(cell.custom_classes for cell in cells)),
            out=self.out,
            workers=self.workers,
        ) as executor:
            yield replace(self, executor=executor)
        for note in checks.tally(
            (law for law, cells in self.failed_checks.items() for _ in cells), total=len(self.keys)
        ):
            logger.warning(note)

    def baseline(self, seeds: Sequence[int]) -> list[Values]:
        """Return the values of the given scheme in each objective.

        Raises
        ------
        SpecError
            When it cannot be run, or an objective has no value.
        """
        calibrations, store = load_calibrations(self.out), Store(self.out)
        cells = variant_cells(self.variant, self.experiment, seeds, calibrations)
        self._run(cells, store, _refuse)
        values = self._read(cells, store)
        if values is None:
            raise SpecError(f"objective: {self.variant.label} has no value")
        return values

    def variant_at(self, point: Sequence[float]) -> Variant:
        """Return the variant at a point of the space, with a label as it would be typed."""
        text = space.scheme_at(self.scheme, self.space, point)
        return Variant(VARIANT_SEPARATOR.join([text, *self.variant.changes]), schemes.parse(text), self.variant.changes)

    def evaluate(self, points: Sequence[Sequence[float]], seeds: Sequence[int]) -> list[list[Values] | None]:
        """Return the values of settings in each objective; ``None`` for one that is impossible, fails or has none."""
        calibrations, store = load_calibrations(self.out), Store(self.out)
        cells = [self._cells_at(point, seeds, calibrations) for point in points]
        self._run(
            [cell for group in cells for cell in group],
            store,
            lambda cell, error: self._skip(f"{cell}: {one_line(error)}"),
        )
        return [self._read(group, store) if group else None for group in cells]

    def _run(self, cells: Sequence[Cell], store: Store, on_failure: FailureCallback) -> None:
        stored = store.find(cells, will_run_missing=True)
        missing = list({cell.key: cell for cell in cells if cell.key not in stored}.values())
        executors.run_cells_with(missing, store, executor=self.executor, workers=self.workers, on_failure=on_failure)

    def _cells_at(self, point: Sequence[float], seeds: Sequence[int], calibrations: Calibrations) -> list[Cell]:
        try:
            return variant_cells(self.variant_at(point), self.experiment, seeds, calibrations)
        except SpecError as error:
            text = space.scheme_at(self.scheme, self.space, point)
            self._skip(str(error) if str(error).startswith(text) else f"{text}: {error}")
            return []

    def _read(self, cells: Sequence[Cell], store: Store) -> list[Values] | None:
        results = store.find(cells, will_run_missing=True)
        if len(results) < len(cells):
            return None
        for key, result in results.items():
            self.keys.add(key)
            for law, is_met in result.metadata.get("checks", {}).items():
                if not is_met:
                    self.failed_checks.setdefault(law, set()).add(key)
        rows = [[objective.read(results[cell.key].summary) for cell in cells] for objective in self.objectives]
        return None if any(None in row for row in rows) else [np.array(row, dtype=float) for row in rows]

    def _skip(self, text: str) -> None:
        self.errors.append(text)
        logger.debug("left out: %s", text)


def _refuse(cell: Cell, error: BaseException) -> NoReturn:
    raise SpecError(f"{cell}: {one_line(error)}") from error
