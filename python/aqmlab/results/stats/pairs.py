"""Schemes against a first one, seed by seed: differences with their intervals, and which of many are significant.

Where many differences are looked at, some look significant by chance. Their p values are therefore corrected as in
Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979): the chance
of even one false finding in a family stays at the level, however its tests depend on each other. A family is one
measure with all its numbers, such as the quantiles of response times, of all schemes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aqmlab.results.measured import MEASURES, PARTS
from aqmlab.results.stats.intervals import LEVEL, Values, mean_interval, p_value
from aqmlab.results.stats.seeds import each_number

Records = Sequence[Mapping[str, Any]]


def paired(first: Records, others: Sequence[Records], *, looks: int = 1) -> list[dict[str, Any]]:
    """Compare schemes with the first one seed by seed: the same users under both.

    Parameters
    ----------
    first
        The records of the first scheme's cells.
    others
        Those of each further scheme, with the same seeds in the same order.
    looks
        At how many numbers of seeds it was to be looked: the error of intervals and tests is split over them.

    Returns
    -------
    list
        For each further scheme the ``confidence`` of its intervals at this look; of each measure the mean of the pairs'
        ``difference``, the bounds of its interval, ``low`` and ``high``, the ``p`` of Student's test that there is
        none, and ``p_holm``, the same corrected over all numbers of the measure and all schemes. ``None`` where a seed
        of either has nothing; the p values also where the pairs do not vary.
    """
    compared = [_differences(first, records, looks) for records in others]
    corrected: list[dict[str, Any]] = [{} for _ in compared]
    for measure in (*MEASURES, *PARTS):
        family = [each["p"][measure] for each in compared]
        adjusted = iter(holm([p for tree in family for p in _numbers(tree)]))
        for each, tree in zip(corrected, family, strict=True):
            each[measure] = _replaced(tree, adjusted)
    return [each | {"p_holm": of_each} for each, of_each in zip(compared, corrected, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for their number, as in Holm (1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        # The k-th smallest of m is taken m - k + 1 times; none is less than one before it.
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def _differences(first: Records, records: Records, looks: int) -> dict[str, Any]:
    measured = [{name: each[name] for name in (*MEASURES, *PARTS)} for each in (*first, *records)]

    def of_pairs(say: Callable[[Values], float | None]) -> Any:
        def combine(values: list[Any]) -> float | None:
            if None in values:
                return None
            return say(np.subtract(values[len(first) :], values[: len(first)]))

        return each_number(combine, measured)

    confidence = 1 - LEVEL / looks
    return {
        "confidence": confidence,
        "difference": of_pairs(lambda pairs: mean_interval(pairs)[0]),
        "low": of_pairs(lambda pairs: mean_interval(pairs, confidence=confidence)[1]),
        "high": of_pairs(lambda pairs: mean_interval(pairs, confidence=confidence)[2]),
        "p": of_pairs(lambda pairs: None if (p := p_value(pairs)) is None else min(1.0, looks * p)),
    }


def _numbers(tree: Any) -> Iterator[float]:
    """Yield the numbers of nested objects and lists."""
    if isinstance(tree, Mapping):
        for value in tree.values():
            yield from _numbers(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _numbers(value)
    elif isinstance(tree, float):
        yield tree


def _replaced(tree: Any, numbers: Iterator[float]) -> Any:
    """Put others in the places of the numbers, in the order of :func:`_numbers`."""
    if isinstance(tree, Mapping):
        return {name: _replaced(value, numbers) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_replaced(value, numbers) for value in tree]
    return next(numbers) if isinstance(tree, float) else tree
