"""Measures on request: measures that are computed from a comparison's cells only if requested, one per file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell
from aqmlab.metrics.numbers import Number
from aqmlab.metrics.parts import Parts
from aqmlab.results.measures.harm import HARM
from aqmlab.results.measures.jain import JAIN
from aqmlab.results.measures.measure import Measure, MeasuredRow
from aqmlab.results.measures.outcome import OUTCOME
from aqmlab.results.measures.page import PAGE
from aqmlab.results.measures.rpm import RPM
from aqmlab.results.measures.slowdown import SLOWDOWN
from aqmlab.results.measures.step import STEP
from aqmlab.store.result import Result

__all__ = [
    "MEASURES",
    "Measure",
    "MeasuredRow",
    "check_cells",
    "extra_cells",
    "measured",
    "numbers",
    "on_request",
    "read_measures",
]

MEASURES = {
    "slowdown": SLOWDOWN,
    "page": PAGE,
    "rpm": RPM,
    "outcome": OUTCOME,
    "jain": JAIN,
    "harm": HARM,
    "step": STEP,
}
"""The measures on request, by name."""


def on_request(names: Sequence[str]) -> dict[str, Measure]:
    """Return the measures on request among these names."""
    return {name: MEASURES[name] for name in names if name in MEASURES}


def numbers(names: Sequence[str], parts: Parts) -> list[Number]:
    """Return the stored numbers among these names, without the measures on request.

    Raises
    ------
    SpecError
        When a name is neither; the message lists all names.
    """
    try:
        return [parts.find(name, "measures") for name in names if name not in MEASURES]
    except SpecError as error:
        raise SpecError(f"{error}; computed on request: {', '.join(MEASURES)}") from None


def read_measures(names: Sequence[str]) -> dict[str, Measure]:
    """Return the measures of these names, or refuse an unknown name."""
    for name in names:
        if name not in MEASURES:
            raise SpecError(f"measures: must be of {', '.join(MEASURES)}, got {name!r}")
    return {name: MEASURES[name] for name in names}


def check_cells(measures: Mapping[str, Measure], cells: Sequence[Cell]) -> None:
    """Refuse measures for which cells are missing, before any cell is run."""
    for name, measure in measures.items():
        if measure.needs_uncongested and all(cell.signal != "none" for cell in cells):
            raise SpecError(f"measures: {name} needs the uncongested network, which is not among the schemes")
        missing = next(
            (missing_text for cell in cells if (missing_text := measure.missing_requirement(cell)) is not None), None
        )
        if missing is not None:
            raise SpecError(f"measures: {name} needs {missing}")
    extra_cells(measures, cells)


def extra_cells(measures: Mapping[str, Measure], cells: Iterable[Cell]) -> list[Cell]:
    """Return the further cells that measures need; missing ones are run when the measures are computed."""
    return [extra for measure in measures.values() for cell in cells for extra in measure.extra_cells(cell)]


def measured(names: Sequence[str], results: Sequence[Result]) -> dict[str, list[MeasuredRow]]:
    """Compute measures of a comparison's results by scheme.

    Parameters
    ----------
    names
        Names of :data:`MEASURES`.
    results
        The results of all cells by scheme, with the seeds in the same order.

    Returns
    -------
    dict
        By measure, rows with the scheme's ``label``, the object ``of`` the measure, and its numbers: means over the
        seeds, with half of the widths of their 95 % intervals in ``half_width``. Slowdowns are those of all seeds'
        requests together.

    Raises
    ------
    SpecError
        When there is no such measure, or the results lack its data.
    """
    measures = read_measures(names)
    check_cells(measures, [result.cell for result in results])
    by_scheme = {label: list(group) for label, group in groupby(results, key=lambda result: result.cell.label)}
    return {name: list(measure.rows(by_scheme)) for name, measure in measures.items()}
