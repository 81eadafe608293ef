"""Settings of a discipline, run under some seeds and read."""

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
from aqmlab.cells.calibration_model import Calibrations, known
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.metrics.parts import Parts
from aqmlab.running import checks
from aqmlab.running.sweep import Failed
from aqmlab.running.validation import check_executor, check_experiment, check_out, check_workers
from aqmlab.spec import schemes, testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.storage.location import Location
from aqmlab.store.store import Store
from aqmlab.ui.messages import logger

Values = NDArray[np.float64]
"""A number for each seed."""


@dataclass
class Trial:
    """What settings of a scheme are tried in."""

    scheme: str
    space: Space
    objectives: tuple[Objective, ...]
    experiment: Experiment
    out: Location
    workers: int | None
    executor: Executor | None
    mistakes: list[str] = field(default_factory=list)
    """Why settings could not be run."""
    unmet: dict[str, set[str]] = field(default_factory=dict)
    """The cells, by their keys, whose numbers do not keep a law, by law."""
    read: set[str] = field(default_factory=set)
    """The cells that were looked at."""

    @classmethod
    def of(
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
        """Return what is asked for in these words; without an experiment it is that of the papers.

        ``objectives`` are read once the parts of the traffic are known.

        Raises
        ------
        SpecError
            When an argument is of the wrong kind, or the discipline has no such parameters.
        """
        chosen = space.read(scheme, over)
        whole = Experiment(testbed=testbeds.PAPERS) if experiment is None else experiment
        check_experiment(whole)
        check_workers(workers)
        check_executor(executor)
        place = check_out(out)
        as_given = cells_of(schemes.parse(scheme).applied_to(whole), [1], known(place))
        return cls(scheme, chosen, objectives(Parts.of_cells(as_given)), whole, place, workers, executor)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Give it with what runs its cells, for all of them: processes take a second to start."""
        discipline = schemes.parse(self.scheme).queue.discipline
        with executors.chosen(self.executor, disciplines=[discipline], out=self.out, workers=self.workers) as executor:
            yield replace(self, executor=executor)
        for note in checks.tally((law for law, cells in self.unmet.items() for _ in cells), of=len(self.read)):
            logger.warning(note)

    def baseline(self, seeds: Sequence[int]) -> list[Values]:
        """Return what the scheme as given comes to in each objective.

        Raises
        ------
        SpecError
            When it cannot be run, or there is nothing to measure.
        """
        calibrations, store = known(self.out), Store(self.out)
        cells = self._cells(self.scheme, seeds, calibrations)
        self._run(cells, store, _refuse)
        values = self._read(cells, store)
        if values is None:
            raise SpecError(f"objective: {self.scheme} has nothing to measure")
        return values

    def values(self, points: Sequence[Sequence[float]], seeds: Sequence[int]) -> list[list[Values] | None]:
        """Return what settings come to in each objective; ``None`` for one that is impossible, fails or has nothing."""
        calibrations, store = known(self.out), Store(self.out)
        texts = [space.scheme_at(self.scheme, self.space, point) for point in points]
        cells = [self._possible(text, seeds, calibrations) for text in texts]
        self._run(
            [cell for each in cells for cell in each],
            store,
            lambda cell, error: self._mistaken(f"{cell}: {one_line(error)}"),
        )
        return [self._read(each, store) if each else None for each in cells]

    def _run(self, cells: Sequence[Cell], store: Store, failed: Failed) -> None:
        found = store.found(cells, missing_are_run=True)
        missing = list({cell.key: cell for cell in cells if cell.key not in found}.values())
        executors.run_cells_with(missing, store, executor=self.executor, workers=self.workers, failed=failed)

    def _possible(self, text: str, seeds: Sequence[int], calibrations: Calibrations) -> list[Cell]:
        try:
            return self._cells(text, seeds, calibrations)
        except SpecError as error:
            self._mistaken(f"{text}: {error}")
            return []

    def _cells(self, text: str, seeds: Sequence[int], calibrations: Calibrations) -> list[Cell]:
        parsed = schemes.parse(text)
        return cells_of(parsed.applied_to(self.experiment), seeds, calibrations, label=parsed.label_in(self.experiment))

    def _read(self, cells: Sequence[Cell], store: Store) -> list[Values] | None:
        found = store.found(cells, missing_are_run=True)
        if len(found) < len(cells):
            return None
        for key, result in found.items():
            self.read.add(key)
            for law, is_met in result.metadata.get("checks", {}).items():
                if not is_met:
                    self.unmet.setdefault(law, set()).add(key)
        rows = [[each.read(found[cell.key].summary) for cell in cells] for each in self.objectives]
        return None if any(None in row for row in rows) else [np.array(row, dtype=float) for row in rows]

    def _mistaken(self, what: str) -> None:
        self.mistakes.append(what)
        logger.debug("left out: %s", what)


def _refuse(cell: Cell, error: BaseException) -> NoReturn:
    raise SpecError(f"{cell}: {one_line(error)}") from error
