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


def diff(ones: Iterable[Result], others: Iterable[Result]) -> Diff:
    """Compare two sets of cells.

    Common specs are compared seed by seed. A spec of one set is compared with that of the same scheme in the other, or
    with the only one that is left. Two single cells are compared even if their seeds differ.

    Parameters
    ----------
    ones, others
        The cells of A and of B. Of several cells with the same spec and seed, the last one counts.
    """
    matched, left = _matched(_by_spec(ones), _by_spec(others))
    values, measures, pairs = [], [], 0
    only: tuple[list[Result], list[Result]] = ([], [])
    for one, other in matched:
        seeds = [seed for seed in one if seed in other]
        # Of two single cells, a differing seed is reported as a value.
        first, second = ([of[seed] for seed in seeds] for of in (one, other))
        if len(one) == len(other) == 1:
            first, second = list(one.values()), list(other.values())
        else:
            for side, of in zip(only, (one, other), strict=True):
                side.extend(result for seed, result in of.items() if seed not in seeds)
        if first:
            values.append(_values(first, second))
            measures.append(_measures(first, second))
            pairs += len(first)
    for side, specs in zip(only, left, strict=True):
        side.extend(result for of in specs for result in of.values())
    return Diff(_together(values, _VALUES), _together(measures, _MEASURES), pairs, only)


def _by_spec(results: Iterable[Result]) -> dict[Any, _Seeds]:
    specs: dict[Any, _Seeds] = {}
    for result in results:
        cell = result.cell
        specs.setdefault((cell.spec.json, cell.kernel, cell.programs), {})[cell.seed] = result
    return specs


def _matched(
    ones: dict[Any, _Seeds], others: dict[Any, _Seeds]
) -> tuple[list[tuple[_Seeds, _Seeds]], tuple[list[_Seeds], list[_Seeds]]]:
    """Return pairs of specs, and the specs of either side without a counterpart."""
    by: list[Callable[[Any, _Seeds], Any]] = [
        lambda spec, _: spec,
        lambda _, of: next(iter(of.values())).cell.label,
        lambda _, of: None,
    ]
    pairs = []
    for name in by:
        for each, of in list(ones.items()):
            wanted = name(each, of)
            alike = [spec for spec in ones if name(spec, ones[spec]) == wanted]
            found = [spec for spec in others if name(spec, others[spec]) == wanted]
            if len(alike) == len(found) == 1:
                pairs.append((ones.pop(each), others.pop(found[0])))
    return pairs, (list(ones.values()), list(others.values()))


def _scheme(ones: Sequence[Result], others: Sequence[Result]) -> str:
    return " → ".join(dict.fromkeys((ones[0].cell.label, others[0].cell.label)))


def _values(ones: Sequence[Result], others: Sequence[Result]) -> pl.DataFrame:
    found = differences([of[0].cell.resolved for of in (ones, others)])
    beside: dict[str, list[Any]] = {
        "seed": [of[0].cell.seed if len(of) == 1 else None for of in (ones, others)],
        "kernel": [of[0].cell.kernel for of in (ones, others)],
        "command": [of[0].cell.programs for of in (ones, others)],
        "results": [of[0].metadata["results"] for of in (ones, others)],
    }
    found |= {name: pair for name, pair in beside.items() if pair[0] != pair[1]}
    rows = [
        {"scheme": _scheme(ones, others), "value": path, "a": value_text(a), "b": value_text(b)}
        for path, (a, b) in found.items()
    ]
    return pl.DataFrame(rows, schema=_VALUES)


def _measures(ones: Sequence[Result], others: Sequence[Result]) -> pl.DataFrame:
    numbers = Parts.of_cells(result.cell for result in (*ones, *others)).numbers.values()
    sides = {"a": ones, "b": others}
    means = frame.means_frame(sides, numbers)
    a, b = (means.filter(scheme=side).select("measure", "unit", pl.col("mean").alias(side)) for side in sides)
    less = frame.differences_frame(sides, numbers, "a", looks=1)
    less = less.select("measure", "low", "high", "n", "sd", difference="mean")
    rows = a.join(b, on=["measure", "unit"], how="full", coalesce=True, maintain_order="left_right")
    rows = rows.join(less, on="measure", how="left", maintain_order="left")
    differs = pl.col("difference").is_null() | (pl.col("difference") != 0) | (pl.col("sd") > 0)
    return rows.filter(differs).with_columns(scheme=pl.lit(_scheme(ones, others))).select(*_MEASURES)


def _together(frames: Sequence[pl.DataFrame], schema: _Schema) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=schema), *(each.cast(pl.Schema(schema)) for each in frames)])
