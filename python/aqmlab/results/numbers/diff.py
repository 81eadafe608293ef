"""Differences between two sets of cells: values of their specs, and measures of the same schemes and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from aqmlab.cells.differences import differences, value_text
from aqmlab.metrics.parts import Parts
from aqmlab.results.numbers import frame
from aqmlab.store.result import Result

_Schema = dict[str, type[pl.DataType]]

_VALUES: _Schema = {"scheme": pl.String, "value": pl.String, "a": pl.String, "b": pl.String}
_MEASURES: _Schema = {
    **dict.fromkeys(("scheme", "measure", "unit"), pl.String),
    **dict.fromkeys(("a", "b", "difference", "low", "high"), pl.Float64),
    "n": pl.Int64,
}

_Seeds = dict[int, Result]
"""The results of one spec, by seed."""


@dataclass(frozen=True)
class Diff:
    """Differences between two sets of cells, A and B."""

    values: pl.DataFrame
    """The values that differ: ``scheme``, the path in the spec (``value``), and the values ``a`` and ``b`` as text."""
    measures: pl.DataFrame
    """The measures that differ: ``scheme``, ``measure``, ``unit``; the means ``a`` and ``b``; the mean ``difference``,
    B minus A, over the ``n`` common seeds; its paired 95 % interval from ``low`` to ``high``, null for one seed."""
    pairs: int
    """The number of pairs of cells that were compared."""
    only: tuple[list[Result], list[Result]]
    """The cells of A, and of B, without a counterpart."""

    @property
    def is_empty(self) -> bool:
        """True if nothing differs."""
        return self.values.is_empty() and self.measures.is_empty() and not any(self.only)


def diff(first_results: Iterable[Result], others: Iterable[Result]) -> Diff:
    """Compare two sets of cells.

    Common specs are compared seed by seed. A spec of one set is compared with that of the same scheme in the other, or
    with the only one that is left. Two single cells are compared even if their seeds differ.

    Parameters
    ----------
    first_results, others
        The cells of A and of B. Of several cells with the same spec and seed, the last one counts.
    """
    matched, unmatched = _matched(_by_spec(first_results), _by_spec(others))
    values, measures, pairs = [], [], 0
    only: tuple[list[Result], list[Result]] = ([], [])
    for first_seeds, second_seeds in matched:
        seeds = [seed for seed in first_seeds if seed in second_seeds]
        # Of two single cells, a differing seed is reported as a value.
        first_pairs, second_pairs = ([results[seed] for seed in seeds] for results in (first_seeds, second_seeds))
        if len(first_seeds) == len(second_seeds) == 1:
            first_pairs, second_pairs = list(first_seeds.values()), list(second_seeds.values())
        else:
            for side, results in zip(only, (first_seeds, second_seeds), strict=True):
                side.extend(result for seed, result in results.items() if seed not in seeds)
        if first_pairs:
            values.append(_values(first_pairs, second_pairs))
            measures.append(_measures(first_pairs, second_pairs))
            pairs += len(first_pairs)
    for side, specs in zip(only, unmatched, strict=True):
        side.extend(result for results in specs for result in results.values())
    return Diff(_concat(values, _VALUES), _concat(measures, _MEASURES), pairs, only)


def _by_spec(results: Iterable[Result]) -> dict[Any, _Seeds]:
    specs: dict[Any, _Seeds] = {}
    for result in results:
        cell = result.cell
        specs.setdefault((cell.spec.json, cell.kernel, cell.programs), {})[cell.seed] = result
    return specs


def _matched(
    first_results: dict[Any, _Seeds], others: dict[Any, _Seeds]
) -> tuple[list[tuple[_Seeds, _Seeds]], tuple[list[_Seeds], list[_Seeds]]]:
    """Return pairs of specs, and the specs of either side without a counterpart."""
    keys: list[Callable[[Any, _Seeds], Any]] = [
        lambda spec, _: spec,
        lambda _, seeds: next(iter(seeds.values())).cell.label,
        lambda _, seeds: None,
    ]
    pairs = []
    for key in keys:
        for spec, seeds in list(first_results.items()):
            value = key(spec, seeds)
            equal_first = [spec for spec in first_results if key(spec, first_results[spec]) == value]
            equal_second = [spec for spec in others if key(spec, others[spec]) == value]
            if len(equal_first) == len(equal_second) == 1:
                pairs.append((first_results.pop(spec), others.pop(equal_second[0])))
    return pairs, (list(first_results.values()), list(others.values()))


def _scheme(first_results: Sequence[Result], others: Sequence[Result]) -> str:
    return " → ".join(dict.fromkeys((first_results[0].cell.label, others[0].cell.label)))


def _values(first_results: Sequence[Result], others: Sequence[Result]) -> pl.DataFrame:
    differing = differences([results[0].cell.resolved for results in (first_results, others)])
    run_facts: dict[str, list[Any]] = {
        "seed": [results[0].cell.seed if len(results) == 1 else None for results in (first_results, others)],
        "kernel": [results[0].cell.kernel for results in (first_results, others)],
        "command": [results[0].cell.programs for results in (first_results, others)],
        "results": [results[0].metadata["results"] for results in (first_results, others)],
    }
    differing |= {name: pair for name, pair in run_facts.items() if pair[0] != pair[1]}
    rows = [
        {"scheme": _scheme(first_results, others), "value": path, "a": value_text(a), "b": value_text(b)}
        for path, (a, b) in differing.items()
    ]
    return pl.DataFrame(rows, schema=_VALUES)


def _measures(first_results: Sequence[Result], others: Sequence[Result]) -> pl.DataFrame:
    numbers = Parts.from_cells(result.cell for result in (*first_results, *others)).numbers.values()
    sides = {"a": first_results, "b": others}
    means = frame.means_frame(sides, numbers)
    a, b = (means.filter(scheme=side).select("measure", "unit", pl.col("mean").alias(side)) for side in sides)
    paired_differences = frame.differences_frame(sides, numbers, "a", looks=1)
    paired_differences = paired_differences.select("measure", "low", "high", "n", "sd", difference="mean")
    rows = a.join(b, on=["measure", "unit"], how="full", coalesce=True, maintain_order="left_right")
    rows = rows.join(paired_differences, on="measure", how="left", maintain_order="left")
    differs = pl.col("difference").is_null() | (pl.col("difference") != 0) | (pl.col("sd") > 0)
    return rows.filter(differs).with_columns(scheme=pl.lit(_scheme(first_results, others))).select(*_MEASURES)


def _concat(frames: Sequence[pl.DataFrame], schema: _Schema) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=schema), *(rows.cast(pl.Schema(schema)) for rows in frames)])
