"""The evaluation of a congestion control: its cells, their runs, and the outcome of each clause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.conformance.suite import built_in_controls
from aqmlab.controls import registry
from aqmlab.evaluation import document, measures
from aqmlab.evaluation.comparison import Comparison, Verdict, worst
from aqmlab.evaluation.document import Clause, Document, Request, Scenario
from aqmlab.results.measures.harm import solo_cells
from aqmlab.running.sweep import sweep_with_progress
from aqmlab.running.validation import check_out, check_workers
from aqmlab.spec.experiment import Experiment
from aqmlab.stats.paired import MIN_SEEDS
from aqmlab.store.result import Result
from aqmlab.store.store import Store

SEEDS = range(1, 11)
"""The default seeds: with ten, Student's interval is 0.7 standard deviations wide on either side."""

STACK: Mapping[str, Any] = {"profile": "linux-6", "ecn": "accurate"}
"""The stack of all hosts. Every control takes accurate ECN; tail drop never marks."""

REFERENCES = ("cubic", "reno")

TESTED = "tested"
"""The role of the control under test, which may be CUBIC with other parameters."""

RunCells = Callable[[list[Cell]], list[Result]]
_Place = tuple[str, str]
"""A scenario and a point of it."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a clause."""

    clause: Clause
    comparisons: tuple[Comparison, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict about the comparisons."""
        return worst(comparison.verdict for comparison in self.comparisons)

    def record(self) -> dict[str, Any]:
        """Return the outcome as values for JSON."""
        return {
            "section": self.clause.section,
            "title": self.clause.title,
            "level": self.clause.level,
            "demand": self.clause.demand,
            "verdict": str(self.verdict),
            "uncovered": self.clause.uncovered,
            "comparisons": [comparison.record() for comparison in self.comparisons],
        }


@dataclass(frozen=True)
class Evaluation:
    """An evaluation, checked before anything runs."""

    control: str
    changes: tuple[str, ...]
    """The changes of the control's stack."""
    seeds: tuple[int, ...]
    document: Document
    clauses: tuple[Clause, ...]
    cells: Mapping[tuple[_Place, str], list[Cell]]
    """The cells of each place, with the control under test or a reference, seed by seed."""
    solos: Mapping[tuple[_Place, str], list[Cell]]
    """The cells of each place with one source alone, by the name of the source."""

    @property
    def all_cells(self) -> list[Cell]:
        """Every cell, each once."""
        every = (cell for group in (*self.cells.values(), *self.solos.values()) for cell in group)
        return list({cell.key: cell for cell in every}.values())

    def run(self, run_cells: RunCells) -> list[Outcome]:
        """Run the cells and return the outcome of each clause."""
        cells = self.all_cells
        results = run_cells(cells)
        records = {cell.key: _record(result) for cell, result in zip(cells, results, strict=True)}
        return [Outcome(clause, tuple(self._compare(clause, records))) for clause in self.clauses]

    def _compare(self, clause: Clause, records: Mapping[str, Mapping[str, Any]]) -> Iterable[Comparison]:
        for request in clause.requests:
            place = (request.scenario, request.point)
            values = {role: self._values(request, self.cells[place, role], records) for role in (TESTED, *REFERENCES)}
            yield Comparison(
                request=request,
                measure=self.document.measures[request.measure],
                values=values[TESTED],
                cubic=values["cubic"],
                reno=values["reno"],
                comparisons=len(clause.requests),
            )

    def _values(
        self, request: Request, cells: Sequence[Cell], records: Mapping[str, Mapping[str, Any]]
    ) -> tuple[float | None, ...]:
        read = measures.READ[request.measure]
        solos = self.solos.get(((request.scenario, request.point), request.source), [])
        alone = [records[cell.key] for cell in solos] if measures.needs_solo(request.measure) else [None] * len(cells)
        return tuple(read(records[cell.key], request.source, solo) for cell, solo in zip(cells, alone, strict=True))


def plan(
    control: str | type | None,
    *,
    clauses: Sequence[str] = (),
    changes: Sequence[str] = (),
    seeds: Iterable[int] = SEEDS,
) -> Evaluation:
    """Return the evaluation of a control.

    The parameters and errors are those of :func:`evaluate`.
    """
    if control is None:
        raise SpecError("--control: must name the congestion control, such as bbr or module:Class, got none")
    name = str(registry.with_names({"congestion": control})["congestion"])
    if not registry.is_custom(name) and name not in (known := built_in_controls()):
        raise SpecError(f"--control: must be one of {', '.join(known)}, or module:Class, got {name!r}")
    for change in changes:
        if not change.startswith("tcp."):
            raise SpecError(f"--set: must change the control's stack, such as tcp.control.beta=0.7, got {change!r}")
    if len(chosen_seeds := tuple(seeds)) < MIN_SEEDS:
        raise SpecError(f"--seeds: must be at least {MIN_SEEDS}, for an interval, got {len(chosen_seeds)}")
    tables = document.load()
    chosen = _clauses(tables, clauses)
    requests = [request for clause in chosen for request in clause.requests]
    stacks = {TESTED: (name, changes), **{reference: (reference, ()) for reference in REFERENCES}}
    cells = {
        (place, role): _cells(tables.scenarios[place[0]], place[1], *stacks[role], chosen_seeds)
        for place in dict.fromkeys((request.scenario, request.point) for request in requests)
        for role in stacks
    }
    solos = {
        (place, source): [_solo(cell, source) for cell in cells[place, "cubic"]]
        for place, source in dict.fromkeys(
            ((request.scenario, request.point), request.source)
            for request in requests
            if measures.needs_solo(request.measure)
        )
    }
    return Evaluation(name, tuple(changes), chosen_seeds, tables, chosen, cells, solos)


def _clauses(tables: Document, sections: Sequence[str]) -> tuple[Clause, ...]:
    known = {clause.section: clause for clause in tables.clauses}
    for section in sections:
        if section not in known:
            raise SpecError(f"--clause: must be one of {', '.join(known)}, got {section!r}")
    return tuple(known[section] for section in sections) or tables.clauses


def _cells(scenario: Scenario, point: str, control: str, changes: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    # A stack of the mix that names its profile takes nothing from the control's stack.
    mix = [{"source": source, "share": 1.0, **STACK, "congestion": other} for source, other in scenario.others.items()]
    spec = {**scenario.spec, "tcp": {**STACK, "congestion": control, **({"mix": mix} if mix else {})}}
    experiment = Experiment(**spec).with_changes(scenario.points[point]).with_changes(changes)
    return cells_of(experiment, seeds)


def _solo(cell: Cell, source: str) -> Cell:
    """Return the cell in which all sources but one are silent."""
    names = [next(iter(table.values()))["name"] for table in cell.resolved["sources"]]
    return solo_cells(cell)[names.index(source)]


def _record(result: Result) -> dict[str, Any]:
    """Return the numbers of a run, with the flows of each source."""
    tables = [next(iter(source.values())) for source in result.cell.resolved["sources"]]
    return {**result.record(), "flows": {table["name"]: table.get("flows", 1) for table in tables}}


def evaluate(
    control: str | type,
    *,
    clauses: Sequence[str] = (),
    changes: Sequence[str] = (),
    seeds: Iterable[int] = SEEDS,
    out: Path | str = "results",
    workers: int | None = None,
    progress: bool | None = None,
) -> list[Outcome]:
    """Evaluate a congestion control as RFC 9743 demands, beside CUBIC and Reno under the same seeds.

    Parameters
    ----------
    control
        A name of ``tcp.congestion``, ``"module:Class"`` of a custom control, or its class.
    clauses
        The sections to evaluate, such as ``"5.2.1"``; by default all.
    changes
        Changes of the control's stack, such as ``"tcp.control.beta=0.7"``.
    seeds
        The seeds, at least three.
    out
        The results directory, or its URL; stored cells are not run again.
    workers
        The number of cells to run at a time; by default the number of processors that this process may use.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Returns
    -------
    list[Outcome]
        The outcome of each clause.

    Raises
    ------
    SpecError
        When there is no such control or clause, there are too few seeds, or a change is not accepted.
    LawError
        When a custom control raises or gives an invalid value.

    Examples
    --------
    >>> [outcome.verdict for outcome in evaluate("bbr", clauses=["5.1.3"])]  # doctest: +SKIP
    """
    check_workers(workers)
    evaluation = plan(control, clauses=clauses, changes=changes, seeds=seeds)
    store = Store(check_out(out))

    def run_cells(cells: list[Cell]) -> list[Result]:
        return sweep_with_progress(cells, store, progress, workers=workers)

    return evaluation.run(run_cells)
