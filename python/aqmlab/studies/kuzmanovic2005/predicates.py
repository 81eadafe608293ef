"""Predicates that only this study needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aqmlab.studies.kit.claims import All, Between
from aqmlab.studies.kit.findings import Finding, Measure, Results


@dataclass(frozen=True, kw_only=True)
class WiderGap:
    """A measure's difference between two schemes is greater than that between two others, by more than a margin."""

    what: str
    measure: Measure
    between: tuple[str, str]
    """The difference is that of the first less the second."""
    than: tuple[str, str]
    margin: float

    def __call__(self, results: Results) -> Finding:
        """Decide from the seeds that all four have."""
        found = [{each.cell.seed: self.measure(each) for each in results[name]} for name in (*self.between, *self.than)]
        seeds = sorted(set.intersection(*map(set, found)))
        gaps = [(found[0][seed] - found[1][seed]) - (found[2][seed] - found[3][seed]) for seed in seeds]
        estimate = Finding.of(self._text(), np.array(gaps, dtype=np.float64))
        return estimate.decided(holds=estimate.low > self.margin, fails=estimate.high <= self.margin)

    def _text(self) -> str:
        (one, other), (third, fourth) = self.between, self.than
        return f"{self.what}, ({one} less {other}) less ({third} less {fourth})"

    def __str__(self) -> str:
        return f"{self._text()} is above {self.margin:g}"


@dataclass(frozen=True, kw_only=True)
class EachBetween:
    """A measure of each of some schemes lies in a range: :class:`~aqmlab.studies.kit.claims.Between`, said once."""

    what: str
    measure: Measure
    schemes: tuple[str, ...]
    low: float = -math.inf
    high: float = math.inf

    def __call__(self, results: Results) -> Finding:
        """Decide, and give the numbers of the first that fails, else is undecided, else of the first."""
        each = (
            Between(what=self.what, measure=self.measure, scheme=scheme, low=self.low, high=self.high)
            for scheme in self.schemes
        )
        return All(parts=tuple(each))(results)

    def __str__(self) -> str:
        return f"{self.what}: from {self.low:g} to {self.high:g} for each of {', '.join(self.schemes)}"
