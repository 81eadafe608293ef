"""The ranking of candidates over links of the map or seeds of a run.

Ratios under the same conditions are compared, because links differ more than candidates on one link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aqmlab.stats import Difference, from_best
from aqmlab.stats.intervals import Values


@dataclass(frozen=True)
class Change:
    """A geometric mean of ratios, as a change in percent, with its interval."""

    percent: float
    low: float
    high: float

    @classmethod
    def from_difference(cls, difference: Difference) -> Change:
        """Return a difference of logarithms as a change."""
        return cls(*(_percent(logarithm) for logarithm in (difference.mean, difference.low, difference.high)))

    def record(self) -> dict[str, float | None]:
        """Return the change as an object for ``--json``; an unknown bound is null."""
        return {name: value if math.isfinite(value) else None for name, value in vars(self).items()}

    def __str__(self) -> str:
        bounds = f" [{self.low:+.0f}, {self.high:+.0f}]" if math.isfinite(self.high) else ""
        return f"{self.percent:+.0f} %{bounds}"


@dataclass(frozen=True)
class Ranking:
    """The rank of a candidate."""

    candidate: str
    mean: float
    """The geometric mean of the minimised measure."""
    change: Change
    """The change of that mean from the plain queue."""
    change_from_best: Change | None
    """The change from the best; ``None`` for the best itself."""
    bulk: Change | None
    """The change of the goodput of long transfers; ``None`` without any."""

    @property
    def is_indistinguishable(self) -> bool:
        """True if it is the best or not distinguishable from it."""
        return self.change_from_best is None or self.change_from_best.low <= 0

    def flat(self) -> dict[str, Any]:
        """Return the numbers as a row of a table."""
        changes = {"change": self.change, "behind": self.change_from_best, "bulk": self.bulk}
        numbers = {
            f"{name}_percent{suffix}": None if change is None else change.record()[key]
            for name, change in changes.items()
            for key, suffix in (("percent", ""), ("low", "_low"), ("high", "_high"))
        }
        return {"mean": self.mean, "alike": self.is_indistinguishable, **numbers}

    def record(self) -> dict[str, Any]:
        """Return the ranking as an object for ``--json``."""
        return {
            "candidate": self.candidate,
            "mean": self.mean,
            "change_percent": self.change.record(),
            "behind_percent": self.change_from_best and self.change_from_best.record(),
            "alike": self.is_indistinguishable,
            "bulk_percent": self.bulk and self.bulk.record(),
        }


def rank(values: Mapping[str, Values], bulk: Mapping[str, Values], *, plain: str) -> list[Ranking]:
    """Rank candidates, the best first. The intervals of all candidates hold together with 95 %.

    Parameters
    ----------
    values
        The minimised measure by candidate: a number above 0 for each link or seed, the same ones for each candidate.
    bulk
        The goodput of long transfers on the links or under the seeds that have any; empty without any.
    plain
        The candidate that the others are compared with.

    Examples
    --------
    >>> values = {"droptail": np.array([100.0, 400.0]), "codel": np.array([50.0, 210.0])}
    >>> [(each.candidate, round(each.change.percent)) for each in rank(values, {}, plain="droptail")]
    [('codel', -49), ('droptail', 0)]
    """
    logs, bulk_logs = ({name: np.log(observed) for name, observed in measure.items()} for measure in (values, bulk))
    differences = from_best(logs)
    comparisons = max(1, len(logs) - 1)

    def from_plain(logs_by_name: Mapping[str, Values], name: str) -> Change:
        return Change.from_difference(
            Difference.between(logs_by_name[name], logs_by_name[plain], comparisons=comparisons)
        )

    return [
        Ranking(
            candidate=name,
            mean=math.exp(float(logs[name].mean())),
            change=from_plain(logs, name),
            change_from_best=None if difference is None else Change.from_difference(difference),
            bulk=from_plain(bulk_logs, name) if bulk_logs else None,
        )
        for name, difference in differences.items()
    ]


def _percent(logarithm: float) -> float:
    # A single pair has no interval; an exponent beyond this is no percentage.
    return 100 * math.expm1(logarithm) if logarithm < 700 else math.inf
