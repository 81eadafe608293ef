"""The cells of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from aqmlab._core import SpecError
from aqmlab.disciplines.custom.law import Law
from aqmlab.running.arguments import check_seeds
from aqmlab.running.calibration.lines import Calibrations
from aqmlab.running.cell import Cell, cells_of
from aqmlab.spec import presets, schemes
from aqmlab.spec.experiment import Experiment

BASELINE = "uncongested"
"""The label of the cells on the uncongested network."""


def comparison_cells(
    scheme_texts: Iterable[str | type[Law]],
    experiment: Experiment,
    seeds: Iterable[int],
    calibrations: Calibrations,
    *,
    baseline: bool | None = None,
    paired: bool = False,
) -> list[Cell]:
    """Return the cells of a comparison, the uncongested network first.

    The parameters are those of :func:`aqmlab.results.compare.compare`.
    """
    seeds = check_seeds(seeds)
    parsed = [schemes.parse(text) for text in dict.fromkeys(scheme_texts)]
    twice = [label for label, times in Counter(scheme.label for scheme in parsed).items() if times > 1]
    if twice:
        raise SpecError(f"schemes: must each have a name of their own, got {twice[0]} twice")
    if paired and (len(seeds) < 2 or len(parsed) < 2):
        raise SpecError(
            "paired: needs two seeds and two schemes at least,"
            f" got {_count(len(seeds), 'seed')} and {_count(len(parsed), 'scheme')}"
        )
    cells = [
        cell
        for scheme in parsed
        for cell in cells_of(scheme.applied_to(experiment), seeds, calibrations, label=scheme.label_in(experiment))
    ]
    if baseline is None:
        baseline = not presets.greedy(experiment.sources)
    if not baseline:
        return cells
    return cells_of(experiment, seeds, calibrations, label=BASELINE, uncongested=True) + cells


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
