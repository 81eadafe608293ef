"""Long frames of a comparison's numbers, with a row for each scheme and number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from aqmlab import stats
from aqmlab.metrics.numbers import Number
from aqmlab.metrics.parts import Parts
from aqmlab.store.result import Result

_COLUMNS = {
    "scheme": pl.String,
    "less": pl.String,
    "measure": pl.String,
    "unit": pl.String,
    **dict.fromkeys(("mean", "low", "high", "half_width", "sd"), pl.Float64),
    "n": pl.Int64,
}

_Values = Sequence[float | None]


def means_frame(schemes: Mapping[str, Sequence[Result]], numbers: Iterable[Number]) -> pl.DataFrame:
    """Return the mean of each number under each scheme, with its 95 % interval (Student's t).

    Parameters
    ----------
    schemes
        The results of each scheme's seeds, by label.
    numbers
        The numbers; one that no seed of a scheme has is left out for that scheme.

    Returns
    -------
    polars.DataFrame
        ``scheme``, ``less`` (null), ``measure`` and ``unit``; the ``mean`` over the ``n`` seeds that have a value; the
        interval from ``low`` to ``high``, limited to the possible values; ``half_width``, half of Student's interval;
        the standard deviation ``sd``. A statistic that needs two seeds is null for one.
    """
    rows = [
        {"scheme": label, **_statistics(number, _values(results, number))}
        for number in numbers
        for label, results in schemes.items()
    ]
    return _frame(rows)


def result_frame(result: Result) -> pl.DataFrame:
    """Return every number of one run.

    Returns
    -------
    polars.DataFrame
        ``measure``, ``unit`` and ``value``; a number that the run lacks is left out.
    """
    numbers = Parts.from_cells([result.cell]).numbers.values()
    rows = [{"measure": number.name, "unit": number.unit, "value": number.read(result.summary)} for number in numbers]
    schema = {"measure": pl.String, "unit": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema).drop_nulls("value")


def differences_frame(
    schemes: Mapping[str, Sequence[Result]], numbers: Iterable[Number], first: str, *, looks: int
) -> pl.DataFrame:
    """Return the paired difference of each number under each scheme from that under the first.

    Parameters
    ----------
    schemes
        The results of each scheme, for the same seeds in the same order.
    numbers
        The numbers.
    first
        The label of the scheme that is subtracted.
    looks
        The number of looks at which the comparison could have stopped.

    Returns
    -------
    polars.DataFrame
        The columns of :func:`means_frame`, with ``less`` the scheme that is subtracted. The intervals of one number
        hold together for all schemes.
    """
    others = {label: results for label, results in schemes.items() if label != first}
    rows = []
    for number in numbers:
        first_values = _values(schemes[first], number)
        for label, results in others.items():
            pairs = [
                (value, reference)
                for value, reference in zip(_values(results, number), first_values, strict=True)
                if value is not None and reference is not None
            ]
            row = {**_statistics(number, [value - reference for value, reference in pairs]), "low": None, "high": None}
            row["half_width"] = None
            if len(pairs) > 1:
                difference = stats.Difference.between(
                    *np.array(pairs, dtype=float).T, comparisons=len(others), looks=looks
                )
                if math.isfinite(difference.high):
                    row |= {
                        "low": difference.low,
                        "high": difference.high,
                        "half_width": difference.high - difference.mean,
                    }
            rows.append({"scheme": label, "less": first, **row})
    return _frame(rows)


def _statistics(number: Number, values: _Values) -> dict[str, Any]:
    present = np.array([value for value in values if value is not None], dtype=float)
    row: dict[str, Any] = {"measure": number.name, "unit": number.unit, "n": len(present)}
    if len(present):
        row |= stats.interval(present, upper_bound=number.upper_bound).row(0, named=True)
    if len(present) > 1:
        row["half_width"] = float(stats.half_width(present, confidence=1 - stats.LEVEL))
        row["sd"] = float(present.std(ddof=1))
    return row


def _values(results: Iterable[Result], number: Number) -> _Values:
    return [number.read(result.summary) for result in results]


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=_COLUMNS).filter(pl.col("n") > 0)
