"""Instructions to reproduce the results of a report: specs to save, and commands to type."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab._core import SpecError
from aqmlab.disciplines.catalogue import disciplines
from aqmlab.reports.selection import Selection
from aqmlab.results.cells import BASELINE, comparison_cells
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.schemes import DIRECTION_SEPARATOR
from aqmlab.spec.variants.variant import VARIANT_SEPARATOR
from aqmlab.store.result import Result


@dataclass(frozen=True)
class Step:
    """A spec to save, and the commands to type in its directory."""

    file: str
    spec: str
    """The spec as TOML."""
    commands: Sequence[str]


def steps(selection: Selection) -> list[Step]:
    """Return the steps that reproduce the cells: one comparison if it has the same cells, or a step for each scheme."""
    return _comparison_steps(selection) or [
        _scheme_step(f"{number}.toml", results) for number, results in enumerate(selection.by_label.values(), start=1)
    ]


def is_explainable(result: Result) -> bool:
    """Return true if ``aqmlab explain`` supports a cell: simulated, with web users, and not the baseline."""
    return result.cell.kernel is None and result.cell.label != BASELINE and bool(result.cell.users_per_side)


def _comparison_steps(selection: Selection) -> list[Step]:
    """Return a comparison with the same cells, if there is one."""
    labels, cells = selection.labels, [result.cell for result in selection.valid]
    # A scheme sets the queue of direction 0; the queue of direction 1 is in the spec.
    schemes = [label.partition(DIRECTION_SEPARATOR)[0] for label in labels]
    # A custom law is not imported only because a stored cell names its module.
    # Variants are not applied either: their changes may name files and modules.
    are_schemes = bool(labels) and not any(VARIANT_SEPARATOR in label for label in labels)
    names = {text.partition(":")[0] for text in schemes} | {name for cell in cells for name in cell.disciplines}
    if not (are_schemes and names <= disciplines().keys()) or any(cell.kernel for cell in cells):
        return []
    resolved = selection.by_label[labels[0]][0].cell.resolved
    # The resolved spec has the scheme's form of ECN, which the spec of the comparison may not have had.
    without_ecn = {**resolved, "tcp": {name: value for name, value in resolved["tcp"].items() if name != "ecn"}}
    seeds = sorted({cell.seed for cell in cells})
    baseline = BASELINE in selection.by_label
    for spec in (resolved, without_ecn):
        try:
            experiment = Experiment(**spec)
            candidates = comparison_cells(schemes, experiment, seeds, {}, baseline=baseline)
        except (SpecError, ValueError):
            continue
        if {cell.key for cell in candidates} == {cell.key for cell in cells}:
            argv = ["aqmlab", "compare", "experiment.toml", *schemes, *([] if baseline else ["--no-baseline"])]
            commands = [shlex.join([*argv, "--seeds", seed_range]) for seed_range in _ranges(seeds)]
            return [Step("experiment.toml", toml(spec), commands)]
    return []


def _scheme_step(file: str, results: Sequence[Result]) -> Step:
    cell = results[0].cell
    command = "live" if cell.world == "live" else "run"
    seeds = sorted(result.cell.seed for result in results)
    world = {"world": "kernel"} if cell.world == "kernel" else {}
    return Step(file, toml(world | cell.resolved), [f"aqmlab {command} {file} --seed {seed}" for seed in seeds])


def _ranges(seeds: Sequence[int]) -> Iterable[str]:
    """Return seeds as values of ``--seeds``, one for each range of consecutive seeds."""
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][-1] + 1:
            ranges[-1].append(seed)
        else:
            ranges.append([seed])
    return [f"{consecutive[0]}-{consecutive[-1]}" for consecutive in ranges]


def toml(tables: Mapping[str, Any]) -> str:
    """Return a spec as TOML."""
    import tomli_w

    return tomli_w.dumps(_without_nulls(tables))


def _without_nulls(value: Any) -> Any:
    """Return a value without nulls, which TOML lacks."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
