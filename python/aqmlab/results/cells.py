"""The cells of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aqmlab._core import SpecError
from aqmlab.cells.calibration_model import Calibrations
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.disciplines.custom.law import Law
from aqmlab.running.validation import check_each_once, check_seeds
from aqmlab.spec import presets
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.variants import parsing
from aqmlab.spec.variants.variant import VARIANT_SEPARATOR, Variant
from aqmlab.ui.counts import pluralize

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
    parsing.check(experiment)
    variants = [parsing.parse(text, experiment) for text in scheme_texts]
    check_each_once("schemes", (variant.label for variant in variants))
    if paired and (len(seeds) < 2 or len(variants) < 2):
        raise SpecError(
            "paired: needs two seeds and two schemes at least,"
            f" got {pluralize(len(seeds), 'seed')} and {pluralize(len(variants), 'scheme')}"
        )
    cells = [cell for variant in variants for cell in variant_cells(variant, experiment, seeds, calibrations)]
    _check_distinct_cells(variants, cells)
    if baseline is None:
        baseline = not presets.greedy(experiment.sources)
    if not baseline:
        return cells
    return cells_of(experiment, seeds, calibrations, label=BASELINE, uncongested=True) + cells


def variant_cells(
    variant: Variant, experiment: Experiment, seeds: Sequence[int], calibrations: Calibrations
) -> list[Cell]:
    """Return the cells of a variant, which belong to the experiment without its changes.

    Raises
    ------
    SpecError
        When it is impossible in this experiment.
    """
    try:
        return cells_of(
            variant.apply_to(experiment),
            seeds,
            calibrations,
            label=variant.label_in(experiment),
            comparison_experiment=variant.comparison_experiment(experiment) if variant.changes else None,
            variant=VARIANT_SEPARATOR.join(variant.changes) or None,
        )
    except SpecError as error:
        if not variant.changes or str(error).startswith(f"{variant.label}: "):
            raise
        raise SpecError(f"{variant.label}: {error}") from None


def _check_distinct_cells(variants: Sequence[Variant], cells: Sequence[Cell]) -> None:
    """Refuse a variant whose changes make it equal to another one."""
    if not any(variant.changes for variant in variants):
        return
    first_labels: dict[str, str] = {}
    for cell in cells:
        first = first_labels.setdefault(cell.key, cell.label)
        if first != cell.label:
            raise SpecError(f"schemes: must differ from one another, got {first} and {cell.label}, which are the same")
