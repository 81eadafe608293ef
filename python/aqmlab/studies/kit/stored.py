"""Stored results of a study: those of the longest length that a store holds completely."""

from __future__ import annotations

from dataclasses import replace

from aqmlab._core import SpecError
from aqmlab.cells import calibration_model
from aqmlab.storage.location import Location
from aqmlab.store.store import Store
from aqmlab.studies.kit.study import Length, Study, StudyResults, study_cells

_LONGEST_FIRST = ("full", "default", "quick")


def stored_results(study: Study, out: Location | str, seeds: range | None = None) -> tuple[Length, StudyResults]:
    """Return the longest length of which a store has every cell, with these seeds or its own, and its results.

    Raises
    ------
    SpecError
        When no length is complete; the message names the most complete one and the command that runs the rest.
    """
    store, calibrations = Store(out), calibration_model.load_calibrations(out)
    partly: dict[Length, tuple[int, int]] = {}
    for name in _LONGEST_FIRST:
        length = study.lengths[name] if seeds is None else study.lengths[name].repeated(seeds)
        cells = study_cells(study, length, calibrations)
        distinct = {cell.key: cell for some in cells.values() for cell in some}
        if store.count(distinct) == len(distinct):
            found = store.find(distinct.values())
            if len(found) == len(distinct):
                return length, {
                    run: [replace(found[cell.key], cell=cell) for cell in some] for run, some in cells.items()
                }
        # Counted again, because damaged cells have been set aside.
        partly[length] = store.count(distinct), len(distinct)
    raise SpecError(_lacking(study, partly, store.out))


def _lacking(study: Study, partly: dict[Length, tuple[int, int]], out: Location) -> str:
    """Describe the most complete length, or the default one where the store has none of the cells."""
    length, (there, of) = max(partly.items(), key=lambda each: (each[1][0] / each[1][1], each[0].name == "default"))
    command = study.command(length) + ("" if str(out) == "results" else f" --out {out}")
    return (
        f"CELL: {study.name} is not whole in {out}: {there:,} of {of:,} cells of its length {length.name} ({length});"
        f" {command} runs what is missing"
    )
