"""The harm of a congestion control beside that of CUBIC and Reno under the same seeds, and the verdicts about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from aqmlab.evaluation.document import Measure, Request
from aqmlab.stats.paired import Difference

Value = float | None


class Verdict(StrEnum):
    """The verdict about a comparison or a clause, from the worst on."""

    EXCEEDS = "exceeds the harm of CUBIC"
    NOT_DECIDED = "not decided by these seeds"
    MEETS = "meets"
    NOT_COVERED = "not covered"


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict about a clause: the worst about its comparisons; not covered without any."""
    found = set(verdicts)
    return next((verdict for verdict in Verdict if verdict in found), Verdict.NOT_COVERED)


@dataclass(frozen=True)
class Harm:
    """The mean by which a control is worse than a reference over the seeds, with its interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def between(cls, values: Sequence[Value], reference: Sequence[Value], better: str, comparisons: int) -> Harm | None:
        """Return how much worse the values are than the reference's; ``None`` if a seed of either has no value."""
        if None in values or None in reference:
            return None
        pair = (np.array(values, dtype=float), np.array(reference, dtype=float))
        worse, less_bad = pair if better == "less" else pair[::-1]
        difference = Difference.between(worse, less_bad, comparisons=comparisons)
        # Differences that do not vary have no interval: each seed has this difference.
        varies = difference.p is not None
        low, high = (difference.low, difference.high) if varies else (difference.mean, difference.mean)
        return cls(difference.mean, low, high)


@dataclass(frozen=True)
class Comparison:
    """A measure of a control at a point of a scenario, beside CUBIC and Reno under the same seeds."""

    request: Request
    measure: Measure
    values: tuple[Value, ...]
    """The values of the control, seed by seed."""
    cubic: tuple[Value, ...]
    reno: tuple[Value, ...]
    comparisons: int
    """The comparisons of the clause: their intervals hold together."""

    @property
    def from_cubic(self) -> Harm | None:
        """The amount by which the control is worse than CUBIC."""
        return Harm.between(self.values, self.cubic, self.measure.better, self.comparisons)

    @property
    def from_reno(self) -> Harm | None:
        """The amount by which the control is worse than Reno."""
        return Harm.between(self.values, self.reno, self.measure.better, self.comparisons)

    @property
    def verdict(self) -> Verdict:
        """The verdict: the interval of the difference from CUBIC against the margin."""
        harm = self.from_cubic
        if harm is None:
            return Verdict.NOT_DECIDED
        if harm.high <= self.measure.margin:
            return Verdict.MEETS
        return Verdict.EXCEEDS if harm.low > self.measure.margin else Verdict.NOT_DECIDED

    @property
    def reason(self) -> str:
        """The reason if there is no difference from CUBIC; empty otherwise."""
        if self.from_cubic is not None:
            return ""
        without = {"the control": self.values, "CUBIC": self.cubic}
        return "; ".join(
            f"{name} has no value in {values.count(None)} of {len(values)} seeds"
            for name, values in without.items()
            if None in values
        )

    def record(self) -> dict[str, Any]:
        """Return the comparison as values for JSON."""
        request, measure = self.request, self.measure
        return {
            "scenario": request.scenario,
            "point": request.point,
            "measure": request.measure,
            "source": request.source,
            "text": measure.text,
            "unit": measure.unit,
            "better": measure.better,
            "margin": measure.margin,
            "control": mean(self.values),
            "cubic": mean(self.cubic),
            "reno": mean(self.reno),
            "worse_than_cubic": _harm_record(self.from_cubic),
            "worse_than_reno": _harm_record(self.from_reno),
            "verdict": str(self.verdict),
            "reason": self.reason,
        }


def mean(values: Sequence[Value]) -> Value:
    """Return the mean over the seeds; ``None`` if a seed has no value."""
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if len(present) == len(values) else None


def _harm_record(harm: Harm | None) -> dict[str, float] | None:
    return None if harm is None else {"mean": harm.mean, "low": harm.low, "high": harm.high}
