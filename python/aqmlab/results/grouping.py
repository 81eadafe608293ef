"""Cells of a store, set side by side: which of them are seeds of one scheme, and what each scheme is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from aqmlab.results.cells import BASELINE
from aqmlab.store.result import Result


def by_scheme(results: Sequence[Result]) -> tuple[Result, ...]:
    """Put the cells of one scheme behind one another, the uncongested network first, seeds in their order.

    Schemes of one name in different experiments or worlds are told apart by their users and by numbers.
    """
    labels = _labels(results)
    by_label: dict[str, list[Result]] = {}
    for each in results:
        label = labels[each.place.name]
        by_label.setdefault(label, []).append(replace(each, cell=replace(each.cell, label=label)))
    baseline = by_label.pop(BASELINE, [])
    groups = (baseline, *by_label.values())
    return tuple(each for those in groups for each in sorted(those, key=lambda result: result.cell.seed))


def split_valid(results: Iterable[Result]) -> tuple[tuple[Result, ...], tuple[Result, ...]]:
    """Part results of which something may be computed from live runs that are not valid."""
    every = tuple(results)
    return tuple(each for each in every if each.valid), tuple(each for each in every if not each.valid)


def invalid_note(invalid: Iterable[Result]) -> list[str]:
    """Say of each why nothing is computed of it."""
    return [
        f"{each.cell} is not valid and is left out: {'; '.join(each.metadata['live']['invalid_reasons'])}."
        for each in invalid
    ]


def started_at_s(result: Result) -> float:
    """Return when a cell was begun: so they stand as schemes were typed, whichever was done first."""
    return datetime.fromisoformat(result.metadata["created"]).timestamp() - float(result.metadata["wall_s"])


def _labels(results: Sequence[Result]) -> dict[str, str]:
    """Name the scheme of each cell; where one name stands for several experiments, with what tells them apart."""
    experiments: dict[str, dict[tuple[str, str | None], str]] = {}
    for each in results:
        cell = each.cell
        live = "" if cell.kernel is None else f", live over Linux {cell.kernel}"
        of_label = experiments.setdefault(cell.label, {})
        of_label.setdefault((cell.spec.json, cell.kernel), f"{cell.describe_users()}{live}")
    named = {}
    for each in results:
        of_label = experiments[each.cell.label]
        if len(of_label) == 1:
            named[each.place.name] = each.cell.label
        else:
            experiment = (each.cell.spec.json, each.cell.kernel)
            number = list(of_label).index(experiment) + 1
            named[each.place.name] = f"{each.cell.label} ({of_label[experiment]}; {number})"
    return named
