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
    rows = [{"scheme": label, **_rows_of(each, _values(of, each))} for each in numbers for label, of in schemes.items()]
    return _frame(rows)


def result_frame(result: Result) -> pl.DataFrame:
    """Return every number of one run.

    Returns
    -------
    polars.DataFrame
        ``measure``, ``unit`` and ``value``; a number that the run lacks is left out.
    """
    numbers = Parts.of_cells([result.cell]).numbers.values()
    rows = [{"measure": each.name, "unit": each.unit, "value": each.read(result.summary)} for each in numbers]
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
    others = {label: of for label, of in schemes.items() if label != first}
    rows = []
    for each in numbers:
        firsts = _values(schemes[first], each)
        for label, of in others.items():
            pairs = [
                (mine, theirs)
                for mine, theirs in zip(_values(of, each), firsts, strict=True)
                if mine is not None and theirs is not None
            ]
            row = {**_rows_of(each, [mine - theirs for mine, theirs in pairs]), "low": None, "high": None}
            row["half_width"] = None
            if len(pairs) > 1:
                found = stats.Difference.of(*np.array(pairs, dtype=float).T, comparisons=len(others), looks=looks)
                if math.isfinite(found.high):
                    row |= {"low": found.low, "high": found.high, "half_width": found.high - found.mean}
            rows.append({"scheme": label, "less": first, **row})
    return _frame(rows)


def _rows_of(number: Number, values: _Values) -> dict[str, Any]:
    known = np.array([value for value in values if value is not None], dtype=float)
    row: dict[str, Any] = {"measure": number.name, "unit": number.unit, "n": len(known)}
    if len(known):
        row |= stats.interval(known, most=number.most).row(0, named=True)
    if len(known) > 1:
        row["half_width"] = float(stats.half_width(known, confidence=1 - stats.LEVEL))
        row["sd"] = float(known.std(ddof=1))
    return row


def _values(results: Iterable[Result], number: Number) -> _Values:
    return [number.read(result.summary) for result in results]


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=_COLUMNS).filter(pl.col("n") > 0)
