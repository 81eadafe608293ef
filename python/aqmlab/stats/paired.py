"""Paired differences: intervals, p values and significance, corrected for multiple comparisons (Bonferroni).

Schemes are compared seed by seed, under the same users. If several schemes are compared with one, the intervals of
their differences hold together with 95 %: each is Student's at 1 - 0.05 / m for m comparisons (Dunn, "Multiple
comparisons among means", Journal of the American Statistical Association 56, 1961). A difference is significant if and
only if its interval excludes 0, so that a mark never contradicts the interval next to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aqmlab.metrics.metrics import MEASURES, PARTS
from aqmlab.stats.aggregate import map_numbers
from aqmlab.stats.intervals import LEVEL, Values, mean_interval, p_value

MIN_SEEDS = 3
"""The smallest useful number of pairs: with two, Student's interval is 13 standard errors wide on either side."""

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Difference:
    """A mean difference over pairs, with its interval."""

    mean: float
    low: float
    high: float
    """The bounds of the interval, infinite if the differences of the pairs do not vary."""
    p: float | None = None
    """The p value of Student's test that the difference is 0, corrected for the comparisons and looks. It is below 0.05
    if the interval excludes 0."""

    @classmethod
    def between(cls, others: Values, first: Values, *, comparisons: int = 1, looks: int = 1) -> Difference:
        """Return the mean of ``others`` minus ``first`` over the pairs, with its interval.

        Parameters
        ----------
        others, first
            The values of the same seeds in the same order.
        comparisons
            The number of schemes that are compared with one: their intervals hold together.
        looks
            The number of looks at which the comparison could have stopped.

        Examples
        --------
        >>> found = Difference.between(np.array([5.0, 7.0, 6.0]), np.array([1.0, 2.0, 3.0]))
        >>> print(f"{found.mean:.3g} [{found.low:.3g}, {found.high:.3g}]", found.is_significant)
        4 [1.52, 6.48] True
        """
        differences = np.subtract(others, first)
        # Differences that are equal except for rounding do not vary either.
        rounding = 1e-12 * max(np.abs(others).max(), np.abs(first).max())
        p = p_value(differences) if np.ptp(differences) > rounding else None
        if p is None:
            return cls(float(differences.mean()), -math.inf, math.inf)
        tests = comparisons * looks
        return cls(*mean_interval(differences, confidence=1 - LEVEL / tests), p=min(1.0, tests * p))

    @property
    def is_significant(self) -> bool:
        """True if the interval excludes 0."""
        return self.low > 0 or self.high < 0


def from_best(values: Mapping[str, Values], *, looks: int = 1) -> dict[str, Difference | None]:
    """Compare schemes with the one whose mean is smallest, seed by seed.

    Returns
    -------
    dict
        The difference of each scheme from the best, ordered by mean; ``None`` for the best itself. With 95 % the truly
        best scheme is the first one or one whose difference is not significant.

    Examples
    --------
    >>> list(from_best({"pie": np.array([5.0, 7.0, 6.0]), "codel": np.array([1.0, 2.0, 3.0])}))
    ['codel', 'pie']
    """
    order = sorted(values, key=lambda name: float(values[name].mean()))
    comparisons = max(1, len(order) - 1)
    best = values[order[0]]
    others = {name: Difference.between(values[name], best, comparisons=comparisons, looks=looks) for name in order[1:]}
    return {order[0]: None, **others}


def paired(first: Records, others: Sequence[Records], *, looks: int = 1) -> list[dict[str, Any]]:
    """Compare schemes with the first one seed by seed: the same users under both.

    Parameters
    ----------
    first
        The records of the first scheme's cells.
    others
        The records of each further scheme, with the same seeds in the same order.
    looks
        The number of looks at which the comparison could have stopped: the error is split over them.

    Returns
    -------
    list
        For each further scheme the ``confidence`` of each interval alone, and for each measure the mean ``difference``,
        the bounds of its interval, ``low`` and ``high``, and the corrected p value ``p``. The intervals of one number
        hold together for all schemes with 95 %. A number is ``None`` if a seed of either scheme lacks it; bounds and p
        value also if the differences do not vary.
    """
    return [_differences(first, records, comparisons=len(others), looks=looks) for records in others]


def _differences(first: Records, records: Records, *, comparisons: int, looks: int) -> dict[str, Any]:
    measured = [{name: record[name] for name in (*MEASURES, *PARTS)} for record in (*first, *records)]

    def combine(values: list[Any]) -> Difference | None:
        if None in values:
            return None
        first_values, other_values = (
            np.array(part, dtype=float) for part in (values[: len(first)], values[len(first) :])
        )
        return Difference.between(other_values, first_values, comparisons=comparisons, looks=looks)

    differences = map_numbers(combine, measured)
    return {
        "confidence": 1 - LEVEL / comparisons / looks,
        "difference": _map_differences(differences, lambda difference: difference.mean),
        "low": _map_differences(differences, lambda difference: _finite(difference.low)),
        "high": _map_differences(differences, lambda difference: _finite(difference.high)),
        "p": _map_differences(differences, lambda difference: difference.p),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _map_differences(tree: Any, read: Callable[[Difference], float | None]) -> Any:
    """Read a number of each difference in nested objects and lists."""
    if isinstance(tree, Mapping):
        return {name: _map_differences(value, read) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_map_differences(value, read) for value in tree]
    return read(tree) if isinstance(tree, Difference) else tree
