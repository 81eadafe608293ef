"""Suites of conformance: the cases of a control's standards, their runs, and the outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.conformance import cases as standards
from aqmlab.conformance.case import Case, Outcome, Verdict
from aqmlab.conformance.scenario import STACK
from aqmlab.conformance.trace import NotSeen, Trace
from aqmlab.controls import registry
from aqmlab.live.run import live_cell, run_live_cells
from aqmlab.running.sweep import sweep_with_progress
from aqmlab.running.validation import check_out, check_workers
from aqmlab.spec import schema
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result
from aqmlab.store.store import Store

SEED = 1
"""The seed of all cases: their scenarios have no random draws that matter."""

_NEEDS: Mapping[str, Mapping[str, Any]] = {
    "cubic": {"hystart": "off"},
    "dctcp": {"ecn": "dctcp"},
    "prague": {"ecn": "accurate"},
}
"""The needs of controls in every scenario: ECN that counts marks, and a slow start that ends only by a loss."""

RunCells = Callable[[list[Cell]], list[Result]]


@dataclass(frozen=True)
class Suite:
    """The cases of a control, checked before anything runs."""

    control: str
    standards: tuple[str, ...]
    """The names of the standards."""
    cases: tuple[Case, ...]
    """The cases to report."""
    cells: Mapping[str, Cell]
    """The cell of each case, and of those that it follows from, by its name; equal scenarios share a cell."""
    make_cell: Callable[[Mapping[str, Any]], Cell]
    """Makes the control's cell of a scenario."""

    @cached_property
    def _all_cases(self) -> dict[str, Case]:
        return {case.id: case for name in self.standards for case in standards.STANDARDS[name].cases}

    def run(self, run_cells: RunCells) -> list[Outcome]:
        """Run the cells and return the outcomes of the cases, in their order."""
        results = dict(zip(self.cells, run_cells(list(self.cells.values())), strict=True))
        traces = _traces(results)
        later, outcomes = self._cells_with_changes(traces)
        if later:
            results |= dict(zip(later, run_cells(list(later.values())), strict=True))
            traces |= _traces({name: results[name] for name in later})
        outcomes |= {
            name: judge(self._all_cases[name], trace) for name, trace in traces.items() if name not in outcomes
        }
        for name, result in results.items():
            if reason := _not_covered_by_kernel(self._all_cases[name], result):
                outcomes[name] = replace(outcomes[name], verdict=Verdict.NOT_COVERED, seen=None, reason=reason)
        return [_without_consequence(outcomes[case.id], outcomes) for case in self.cases]

    def _cells_with_changes(self, traces: Mapping[str, Trace]) -> tuple[dict[str, Cell], dict[str, Outcome]]:
        """Return the cells that change upon the entry into a phase, and the outcomes of cases without it."""
        cells: dict[str, Cell] = {}
        outcomes: dict[str, Outcome] = {}
        for name, trace in traces.items():
            case = self._all_cases[name]
            if case.upon is None:
                continue
            try:
                cells[name] = self.make_cell(case.upon.scenario(case.scenario, trace))
            except NotSeen as reason:
                outcomes[name] = Outcome(case, Verdict.NOT_COVERED, None, trace, str(reason))
        return cells, outcomes


def _traces(results: Mapping[str, Result]) -> dict[str, Trace]:
    """Return the series of each result; those of one cell are read once."""
    by_cell: dict[str, Trace] = {}
    for result in results.values():
        if result.cell.key not in by_cell:
            by_cell[result.cell.key] = Trace.of(result)
    return {name: by_cell[result.cell.key] for name, result in results.items()}


def judge(case: Case, trace: Trace) -> Outcome:
    """Return the outcome of a case alone."""
    try:
        seen = case.measure(trace)
    except NotSeen as reason:
        return Outcome(case, Verdict.NOT_COVERED, None, trace, str(reason))
    return Outcome(case, Verdict.MEETS if seen in case.expected else Verdict.FAILS, seen, trace)


def _not_covered_by_kernel(case: Case, result: Result) -> str:
    """Return the reason why a kernel's run does not cover the case; none in the simulator."""
    live = result.metadata.get("live")
    kernel = live or result.metadata.get("kernel")
    if kernel is None:
        return ""
    needed = {name for name, value in case.scenario["tcp"].items() if STACK.get(name) != value}
    if own := sorted(needed.intersection(kernel["tcp"][0]["kernels_own"])):
        return f"the kernel has its own {', '.join(own)}"
    if live and not live["valid"]:
        return f"the run is invalid: {'; '.join(live['invalid_reasons'])}"
    return ""


def _without_consequence(outcome: Outcome, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Return an outcome; one that follows from a failed case is not covered."""
    failed = [name for name in outcome.case.follows_from if outcomes[name].verdict is Verdict.FAILS]
    if not failed:
        return outcome
    return replace(outcome, verdict=Verdict.NOT_COVERED, reason=f"follows from {', '.join(failed)}, which fails")


def plan(
    control: str | type,
    *,
    standard: str | None = None,
    cases: Sequence[str] = (),
    changes: Sequence[str] = (),
    world: str = "simulated",
) -> Suite:
    """Return the suite of a control.

    The parameters and errors are those of :func:`conform`.
    """
    name = registry.with_names({"congestion": control})["congestion"]
    if not registry.is_custom(name) and name not in (known := built_in_controls()):
        raise SpecError(f"CONTROL: must be one of {', '.join(known)}, or module:Class, got {name!r}")
    chosen = _standards_of(name, standard)
    known_cases = {case.id: case for one in chosen for case in standards.STANDARDS[one].cases}
    for case in cases:
        if case not in known_cases:
            raise SpecError(f"--case: must be one of {', '.join(known_cases)}, got {case!r}")
    reported = tuple(known_cases[case] for case in cases) or tuple(known_cases.values())
    needed = {case.id for case in reported} | {name for case in reported for name in case.follows_from}
    make_cell = partial(_cell_of, control=name, changes=changes, world=world)
    cells = {case.id: make_cell(case.scenario) for case in known_cases.values() if case.id in needed}
    return Suite(name, chosen, reported, cells, make_cell)


def built_in_controls() -> list[str]:
    """Return the names of the engine's congestion controls."""
    return [name for form in schema.part("Algorithm")["oneOf"] for name in form.get("enum", [form.get("const")])]


def _standards_of(control: str, standard: str | None) -> tuple[str, ...]:
    known = ", ".join(standards.STANDARDS)
    if standard is not None:
        if standard not in standards.STANDARDS:
            raise SpecError(f"--standard: must be one of {known}, got {standard!r}")
        return (standard,)
    own = tuple(name for name, one in standards.STANDARDS.items() if control in one.controls)
    if not own:
        raise SpecError(f"--standard: must name the standard to hold {control} to, one of {known}, got none")
    return own


def _cell_of(scenario: Mapping[str, Any], control: str, changes: Sequence[str], world: str) -> Cell:
    tcp = {"congestion": control, **_NEEDS.get(control, {}), **scenario["tcp"]}
    # A live run is no world of a spec: it is one of the simulator's specs over this machine's kernel.
    spec = {**scenario, "tcp": tcp, "world": "simulated" if world == "live" else world}
    (cell,) = cells_of(Experiment(**spec).with_changes(changes), [SEED])
    return live_cell(cell) if world == "live" else cell


def check_workers_in(world: str, workers: int | None) -> None:
    """Refuse an invalid number of workers, and any for live runs, which are one at a time."""
    check_workers(workers)
    if world == "live" and workers is not None:
        raise SpecError(f"workers: live runs are one at a time, got {workers}")


def conform(
    control: str | type,
    *,
    standard: str | None = None,
    cases: Sequence[str] = (),
    changes: Sequence[str] = (),
    world: str = "simulated",
    out: Path | str = "results",
    workers: int | None = None,
    progress: bool | None = None,
) -> list[Outcome]:
    """Hold a congestion control to its standards.

    Parameters
    ----------
    control
        A name of ``tcp.congestion``, ``"module:Class"`` of a custom control, or its class.
    standard
        The standard; by default all of a built-in control. A custom control needs one.
    cases
        The cases to report, by their names; by default all of the standard.
    changes
        Changes of every scenario, such as ``"tcp.control.beta=0.7"``.
    world
        ``"simulated"``, ``"kernel"`` for the control of this name in a Linux kernel in virtual time, or ``"live"`` for
        that of this machine's kernel, in real time.
    out
        The results directory, or its URL; stored cells are not run again.
    workers
        The number of cells to run at a time; by default the number of processors that this process may use. Live runs
        are one at a time.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Returns
    -------
    list[Outcome]
        The outcome of each case.

    Raises
    ------
    SpecError
        When there is no such control, standard or case, or a change is not accepted.
    LawError
        When a custom control raises or gives an invalid value.
    LiveError
        When the machine does not support live runs.

    Examples
    --------
    >>> [outcome.verdict for outcome in conform("reno", cases=["reno-halving"])]  # doctest: +SKIP
    """
    check_workers_in(world, workers)
    suite = plan(control, standard=standard, cases=cases, changes=changes, world=world)
    store = Store(check_out(out))

    def run_cells(cells: list[Cell]) -> list[Result]:
        if world == "live":
            return run_live_cells(cells, store, progress=progress)
        return sweep_with_progress(cells, store, progress, workers=workers)

    return suite.run(run_cells)
