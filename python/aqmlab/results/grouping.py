"""Grouping of stored cells by scheme, with distinct labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from aqmlab.results.cells import BASELINE
from aqmlab.store.result import Result


def by_scheme(results: Sequence[Result]) -> tuple[Result, ...]:
    """Sort cells by scheme, the uncongested network first, and by seed.

    Schemes with the same name in different experiments or worlds get labels with their users and a number.
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
    """Split results into valid results and invalid live runs."""
    every = tuple(results)
    return tuple(each for each in every if each.valid), tuple(each for each in every if not each.valid)


def invalid_note(invalid: Iterable[Result]) -> list[str]:
    """Return a sentence for each invalid run, with the reasons."""
    return [
        f"{each.cell} is invalid and left out: {'; '.join(each.metadata['live']['invalid_reasons'])}."
        for each in invalid
    ]


def started_at_s(result: Result) -> float:
    """Return the start time of a cell's run: sorted by it, schemes have the order in which they were typed."""
    return datetime.fromisoformat(result.metadata["created"]).timestamp() - float(result.metadata["wall_s"])


def _labels(results: Sequence[Result]) -> dict[str, str]:
    """Return the label of each cell; a label of several experiments is extended by their differences."""
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
