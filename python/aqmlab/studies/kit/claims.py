"""Claims as code: what a paper says of schemes, as a predicate over results that holds, fails or stays undecided.

Two schemes are compared seed by seed: with one seed they have the same users, so that what differs between their
results is due to the schemes alone. The mean of the pairs' differences, taken as normal, has a Student-t interval of
95 %, which decides: a claim holds where all of it is on the claimed side of the margin, fails where all of it is on the
other, and is undecided where it straddles the margin or where there are fewer than two seeds in common.

Margins belong to the claim: they say from what difference on a reader of the paper would call two things different,
and are stated before the results are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from aqmlab import stats
from aqmlab.studies.kit.findings import Finding, Measure, Outcome, Results, by_seed, worst

_Floats = NDArray[np.float64]


class Predicate(Protocol):
    """What a claim says, as a function of results; as text, what it says exactly."""

    def __call__(self, results: Results) -> Finding:
        """Decide."""
        ...


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, and how to tell whether it is so."""

    id: str
    place: str
    """Paper, with section, page or figure."""
    gist: str
    """What is claimed, in our words."""
    predicate: Predicate

    def decide(self, results: Results) -> Finding:
        """Say whether the claim holds of these results."""
        return self.predicate(results)


@dataclass(frozen=True, kw_only=True)
class Greater:
    """A measure is greater under one scheme than under another, by more than a margin."""

    what: str
    measure: Measure
    scheme: str
    than: str
    margin: float = 0.0
    """In the measure's unit; negative for "not less by more than"."""

    def __call__(self, results: Results) -> Finding:
        """Decide from the mean of the differences, ``scheme`` less ``than``."""
        estimate = _difference(self.what, self.measure, self.scheme, self.than, results)
        return estimate.decided(holds=estimate.low > self.margin, fails=estimate.high <= self.margin)

    def __str__(self) -> str:
        return f"{self.what}: {self.scheme} less {self.than} is above {self.margin:g}"


@dataclass(frozen=True, kw_only=True)
class CloseTo:
    """A measure differs between two schemes by less than a margin: the whole interval is within it on both sides."""

    what: str
    measure: Measure
    scheme: str
    to: str
    margin: float
    """In the measure's unit, above 0."""

    def __post_init__(self) -> None:
        if not self.margin > 0:
            raise ValueError(f"margin: must be above 0, got {self.margin:g}")

    def __call__(self, results: Results) -> Finding:
        """Decide from the mean of the differences, ``scheme`` less ``to``."""
        estimate = _difference(self.what, self.measure, self.scheme, self.to, results)
        return estimate.decided(
            holds=-self.margin < estimate.low and estimate.high < self.margin,
            fails=estimate.high <= -self.margin or self.margin <= estimate.low,
        )

    def __str__(self) -> str:
        return f"{self.what}: {self.scheme} less {self.to} is within ±{self.margin:g}"


@dataclass(frozen=True, kw_only=True)
class Between:
    """A measure of one scheme lies in a range: the whole interval of its mean does."""

    what: str
    measure: Measure
    scheme: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"high: must be above low = {self.low:g}, got {self.high:g}")

    def __call__(self, results: Results) -> Finding:
        """Decide from the mean over the seeds."""
        values = np.array([self.measure(result) for (result,) in by_seed(results, self.scheme)], dtype=np.float64)
        return _within(Finding.of(f"{self.what}, {self.scheme}", values), self.low, self.high)

    def __str__(self) -> str:
        return f"{self.what}: {self.scheme} is {_range(self.low, self.high)}"


@dataclass(frozen=True, kw_only=True)
class Raises:
    """A measure is higher under one scheme than under another by so many percent of the other's, seed by seed."""

    what: str
    measure: Measure
    scheme: str
    over: str
    low_percent: float = -math.inf
    high_percent: float = math.inf

    def __post_init__(self) -> None:
        if not self.low_percent < self.high_percent:
            raise ValueError(f"high_percent: must be above low_percent, got {self.high_percent:g}")

    def __call__(self, results: Results) -> Finding:
        """Decide from the mean of the pairs' changes."""
        pairs = by_seed(results, self.scheme, self.over)
        changes = [100 * (self.measure(one) / self.measure(other) - 1) for one, other in pairs]
        what = f"{self.what}, {self.scheme} over {self.over}, %"
        return _within(Finding.of(what, np.array(changes, dtype=np.float64)), self.low_percent, self.high_percent)

    def __str__(self) -> str:
        return f"{self.what}: {self.scheme} over {self.over} is {_range(self.low_percent, self.high_percent, ' %')}"


@dataclass(frozen=True, kw_only=True)
class All:
    """Several things at once: it holds where each of them does, and fails where one of them does.

    To hold needs no correction for their number; what decides a failure is shown, so that a reader can judge it.
    """

    parts: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("parts: must be at least one, got none")

    def __call__(self, results: Results) -> Finding:
        """Decide, and give the numbers of the first part that fails, else is undecided, else of the first."""
        found = [part(results) for part in self._whole()]
        return worst(found).of_all(found)

    def _whole(self) -> Iterator[Predicate]:
        """Give the parts, and instead of one that is all of several those."""
        for part in self.parts:
            yield from part._whole() if isinstance(part, All) else (part,)

    def __str__(self) -> str:
        return "; and ".join(map(str, self.parts))


@dataclass(frozen=True, kw_only=True)
class Dominates:
    """Under one scheme a greater share of requests is answered within each time of a range than under another.

    The range is looked at in some points, evenly spaced on a logarithmic scale. To hold, the claim has to hold at all
    of them, which needs no correction for their number; to fail, at one of them, which needs Bonferroni's.
    """

    scheme: str
    over: str
    from_ms: float
    to_ms: float
    margin: float
    """By how much the share is greater at least, as a fraction; negative for "nowhere less by more than"."""
    points: int = 10

    def __post_init__(self) -> None:
        if not 0 < self.from_ms < self.to_ms:
            raise ValueError(f"from_ms: must be above 0 and below to_ms, got {self.from_ms:g} to {self.to_ms:g}")
        if self.points < 2:
            raise ValueError(f"points: must be at least 2, got {self.points}")

    def __call__(self, results: Results) -> Finding:
        """Decide, and give the numbers of the time at which the claim is worst off."""
        times = np.geomspace(self.from_ms, self.to_ms, self.points).tolist()
        pairs = by_seed(results, self.scheme, self.over)
        shares = np.array(
            [[stats.shares_within(result.response_time_bins, times) for result in pair] for pair in pairs]
        ).reshape(-1, 2, self.points)
        differences = shares[:, 0] - shares[:, 1]
        found = [self._at(time, column) for time, column in zip(times, differences.T, strict=True)]
        # Without an interval the estimate has to do.
        return min(found, key=lambda each: (each.outcome is not Outcome.FAILS, each.low, each.estimate))

    def _at(self, time_ms: float, differences: _Floats) -> Finding:
        what = f"share within {time_ms:.4g} ms, {self.scheme} less {self.over}"
        corrected = Finding.of(what, differences, confidence=1 - 0.05 / self.points)
        if corrected.high < self.margin:
            return corrected.decided(holds=False, fails=True)
        estimate = Finding.of(what, differences)
        return estimate.decided(holds=estimate.low >= self.margin, fails=False)

    def __str__(self) -> str:
        times = f"each of {self.points} times from {self.from_ms:g} to {self.to_ms:g} ms"
        return f"share of requests within {times}: {self.scheme} less {self.over} is at least {self.margin:g}"


def _within(estimate: Finding, low: float, high: float) -> Finding:
    return estimate.decided(
        holds=low <= estimate.low and estimate.high <= high, fails=estimate.high < low or high < estimate.low
    )


def _range(low: float, high: float, unit: str = "") -> str:
    if high == math.inf:
        return f"at least {low:g}{unit}"
    if low == -math.inf:
        return f"at most {high:g}{unit}"
    return f"{low:g} to {high:g}{unit}"


def _difference(what: str, measure: Measure, one: str, other: str, results: Results) -> Finding:
    differences = [measure(first) - measure(second) for first, second in by_seed(results, one, other)]
    return Finding.of(f"{what}, {one} less {other}", np.array(differences, dtype=np.float64))
