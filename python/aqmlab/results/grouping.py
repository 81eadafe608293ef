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
    for result in results:
        label = labels[result.location.name]
        by_label.setdefault(label, []).append(replace(result, cell=replace(result.cell, label=label)))
    baseline = by_label.pop(BASELINE, [])
    groups = (baseline, *by_label.values())
    return tuple(result for group in groups for result in sorted(group, key=lambda result: result.cell.seed))


def split_valid(results: Iterable[Result]) -> tuple[tuple[Result, ...], tuple[Result, ...]]:
    """Split results into valid results and invalid live runs."""
    all_results = tuple(results)
    return tuple(result for result in all_results if result.valid), tuple(
        result for result in all_results if not result.valid
    )


def invalid_note(invalid: Iterable[Result]) -> list[str]:
    """Return a sentence for each invalid run, with the reasons."""
    return [
        f"{result.cell} is invalid and left out: {'; '.join(result.metadata['live']['invalid_reasons'])}."
        for result in invalid
    ]


def started_at_s(result: Result) -> float:
    """Return the start time of a cell's run: sorted by it, schemes have the order in which they were typed."""
    return datetime.fromisoformat(result.metadata["created"]).timestamp() - float(result.metadata["wall_s"])


def _labels(results: Sequence[Result]) -> dict[str, str]:
    """Return the label of each cell; a label of several experiments is extended by their differences."""
    experiments: dict[str, dict[tuple[str, str | None], str]] = {}
    for result in results:
        cell = result.cell
        live = "" if cell.kernel is None else f", {cell.where}"
        texts = experiments.setdefault(cell.label, {})
        texts.setdefault((cell.spec.json, cell.kernel), f"{cell.describe_users()}{live}")
    labels = {}
    for result in results:
        texts = experiments[result.cell.label]
        if len(texts) == 1:
            labels[result.location.name] = result.cell.label
        else:
            experiment = (result.cell.spec.json, result.cell.kernel)
            number = list(texts).index(experiment) + 1
            labels[result.location.name] = f"{result.cell.label} ({texts[experiment]}; {number})"
    return labels
