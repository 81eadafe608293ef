"""Candidates side by side, on links of the map or under seeds of a run: who is best, by how much, and who is no worse.

What is compared are ratios under the same conditions: links differ more from one another than candidates on one do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aqmlab.results.stats import LEVEL, mean_interval
from aqmlab.results.stats.intervals import Values


@dataclass(frozen=True)
class Change:
    """A geometric mean of ratios, as a change in percent, with its interval."""

    percent: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Values, others: Values, *, confidence: float = 1 - LEVEL) -> Change:
        """Return how values that are above nought differ from others, pair by pair (Student's t on logarithms)."""
        return cls(*(_percent(each) for each in mean_interval(np.log(values / others), confidence=confidence)))

    def record(self) -> dict[str, float | None]:
        """Return it as an object for ``--json``; a bound that is not known is null."""
        return {name: value if math.isfinite(value) else None for name, value in vars(self).items()}

    def __str__(self) -> str:
        return f"{self.percent:+.0f} % [{self.low:+.0f}, {self.high:+.0f}]"


@dataclass(frozen=True)
class Standing:
    """How a candidate stands."""

    candidate: str
    mean: float
    """The geometric mean of what is minimised."""
    change: Change
    """What it does to that, from the plain queue's, with a 95 % interval."""
    behind: Change
    """By how much it is worse than the best; the intervals of all candidates hold together with 95 %."""
    bulk: Change | None
    """What it does to the goodput of long transfers; none where there are none."""

    @property
    def is_alike(self) -> bool:
        """Whether it cannot be told from the best, which is like itself."""
        return self.behind.low <= 0

    def record(self) -> dict[str, Any]:
        """Return it as an object for ``--json``."""
        return {
            "candidate": self.candidate,
            "mean": self.mean,
            "change_percent": self.change.record(),
            "behind_percent": self.behind.record(),
            "alike": self.is_alike,
            "bulk_percent": self.bulk and self.bulk.record(),
        }


def rank(values: Mapping[str, Values], bulk: Mapping[str, Values], *, plain: str) -> list[Standing]:
    """Rank candidates, the best first.

    Parameters
    ----------
    values
        What is minimised, by candidate: a number above nought for each link or seed, the same ones in each.
    bulk
        The goodput of long transfers on those links and under those seeds that have any; empty where none has.
    plain
        The candidate that the others are held against.

    Examples
    --------
    >>> values = {"droptail": np.array([100.0, 400.0]), "codel": np.array([50.0, 210.0])}
    >>> [(each.candidate, round(each.change.percent)) for each in rank(values, {}, plain="droptail")]
    [('codel', -49), ('droptail', 0)]
    """
    order = sorted(values, key=lambda name: float(np.log(values[name]).mean()))
    best = values[order[0]]
    # All that are held against the best together: Dunn (1961).
    confidence = 1 - LEVEL / max(1, len(order) - 1)
    return [
        Standing(
            candidate=name,
            mean=math.exp(float(np.log(values[name]).mean())),
            change=Change.of(values[name], values[plain]),
            behind=Change.of(values[name], best, confidence=confidence),
            bulk=Change.of(bulk[name], bulk[plain]) if bulk else None,
        )
        for name in order
    ]


def _percent(logarithm: float) -> float:
    # A single pair has no interval; an exponent beyond this is no percentage.
    return 100 * math.expm1(logarithm) if logarithm < 700 else math.inf
