"""Instructions to reproduce the results of a report: specs to save, and commands to type."""

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
    """A spec to save, and the commands to type in its directory."""

    file: str
    spec: str
    """The spec as TOML."""
    commands: Sequence[str]


def steps(gathered: Gathered) -> list[Step]:
    """Return the steps that reproduce the cells: one comparison if it has the same cells, or a step for each scheme."""
    return _as_comparison(gathered) or [
        _scheme(f"{number}.toml", results) for number, results in enumerate(gathered.by_label.values(), start=1)
    ]


def is_explainable(result: Result) -> bool:
    """Return true if ``aqmlab explain`` supports a cell: simulated, with web users, and not the baseline."""
    return result.cell.kernel is None and result.cell.label != BASELINE and bool(result.cell.users_per_side)


def _as_comparison(gathered: Gathered) -> list[Step]:
    """Return a comparison with the same cells, if there is one, trying the spec with and without its form of ECN."""
    labels, cells = gathered.labels, [each.cell for each in gathered.valid]
    # A scheme sets the queue of direction 0; the queue of direction 1 is in the spec.
    schemes = [label.partition(BETWEEN_DIRECTIONS)[0] for label in labels]
    # A custom law is not imported only because a stored cell names its module.
    # Variants are not applied either: their changes may name files and modules.
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
    """Return seeds as values of ``--seeds``, one for each run of consecutive seeds."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return [f"{run[0]}-{run[-1]}" for run in runs]


def toml(tables: Mapping[str, Any]) -> str:
    """Return a spec as TOML."""
    import tomli_w

    return tomli_w.dumps(_known(tables))


def _known(value: Any) -> Any:
    """Return a value without nulls, which TOML lacks."""
    if isinstance(value, Mapping):
        return {name: _known(each) for name, each in value.items() if each is not None}
    return [_known(each) for each in value] if isinstance(value, list) else value
