"""How a report's results are made again: files to save, and commands to type."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab._core import SpecError
from aqmlab.disciplines.catalogue import disciplines
from aqmlab.report.gathered import Gathered
from aqmlab.results.cells import BASELINE, comparison_cells
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.schemes import BETWEEN_DIRECTIONS
from aqmlab.spec.variants.variant import JOINED
from aqmlab.store.result import Result


@dataclass(frozen=True)
class Step:
    """A file, and what to type where it is saved."""

    file: str
    spec: str
    """TOML."""
    commands: Sequence[str]


def steps(gathered: Gathered) -> list[Step]:
    """Say how to make the cells again: by one comparison where one makes just these, else a scheme at a time."""
    return _as_comparison(gathered) or [
        _scheme(f"{number}.toml", results) for number, results in enumerate(gathered.by_label.values(), start=1)
    ]


def is_explainable(result: Result) -> bool:
    """Whether ``aqmlab explain`` has something to say of a cell: web users behind a queue of the simulator's."""
    return result.cell.kernel is None and result.cell.label != BASELINE and bool(result.cell.users_per_side)


def _as_comparison(gathered: Gathered) -> list[Step]:
    """Try whether a comparison has the same cells: its spec is that of a scheme, with the ECN of none if need be."""
    labels, cells = gathered.labels, [each.cell for each in gathered.valid]
    # A scheme is that of direction 0: the queue of direction 1 stands in the spec.
    schemes = [label.partition(BETWEEN_DIRECTIONS)[0] for label in labels]
    # A law of somebody's own is a module, which is not imported because a cell has its name.
    # Nor is a variant applied: its changes may name files and modules.
    are_schemes = bool(labels) and not any(JOINED in label for label in labels)
    names = {text.partition(":")[0] for text in schemes} | {name for cell in cells for name in cell.disciplines}
    if not (are_schemes and names <= disciplines().keys()) or any(cell.kernel for cell in cells):
        return []
    resolved = gathered.by_label[labels[0]][0].cell.resolved
    plain = {**resolved, "tcp": {name: value for name, value in resolved["tcp"].items() if name != "ecn"}}
    seeds = sorted({cell.seed for cell in cells})
    baseline = BASELINE in gathered.by_label
    for tables in (resolved, plain):
        try:
            experiment = Experiment(**tables)
            made = comparison_cells(schemes, experiment, seeds, {}, baseline=baseline)
        except (SpecError, ValueError):
            continue
        if {cell.key for cell in made} == {cell.key for cell in cells}:
            words = ["aqmlab", "compare", "experiment.toml", *schemes, *([] if baseline else ["--no-baseline"])]
            commands = [shlex.join([*words, "--seeds", run]) for run in _runs(seeds)]
            return [Step("experiment.toml", toml(tables), commands)]
    return []


def _scheme(file: str, results: Sequence[Result]) -> Step:
    cell = results[0].cell
    command = "run" if cell.kernel is None else "live"
    seeds = sorted(each.cell.seed for each in results)
    return Step(file, toml(cell.resolved), [f"aqmlab {command} {file} --seed {seed}" for seed in seeds])


def _runs(seeds: Sequence[int]) -> Iterable[str]:
    """Write seeds as the options that name them: those that follow one another together."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return [f"{run[0]}-{run[-1]}" for run in runs]


def toml(tables: Mapping[str, Any]) -> str:
    """Write a spec as a file has it."""
    import tomli_w

    return tomli_w.dumps(_known(tables))


def _known(value: Any) -> Any:
    """Leave out what is null, which TOML does not write."""
    if isinstance(value, Mapping):
        return {name: _known(each) for name, each in value.items() if each is not None}
    return [_known(each) for each in value] if isinstance(value, list) else value
