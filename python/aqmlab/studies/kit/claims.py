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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from aqmlab.results import stats
from aqmlab.results.result import Result

_Floats = NDArray[np.float64]

Results = Mapping[str, Iterable[Result]]
"""The results of each scheme, by its label."""

Measure = Callable[[Result], float]
"""A number that a result has: ``lambda result: result.summary["loss_percent"]``."""


class Outcome(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


def tally(outcomes: Sequence[Outcome]) -> str:
    """Count claims by outcome, in words.

    Examples
    --------
    >>> tally([Outcome.HOLDS, Outcome.HOLDS, Outcome.FAILS])
    '3 claims: 2 hold, 1 fails, 0 undecided'
    """
    plurals = {Outcome.HOLDS: "hold", Outcome.FAILS: "fail", Outcome.UNDECIDED: "undecided"}
    counts = {outcome: outcomes.count(outcome) for outcome in Outcome}
    noun = "claim" if len(outcomes) == 1 else "claims"
    return f"{len(outcomes)} {noun}: " + ", ".join(f"{n} {it if n == 1 else plurals[it]}" for it, n in counts.items())


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An outcome with the numbers that decided it."""

    outcome: Outcome
    what: str
    """What was estimated, and its unit."""
    estimate: float
    """The mean over the pairs; not a number without any."""
    low: float
    high: float
    """Its confidence interval; without bounds from fewer than two pairs."""
    pairs: int
    """Seeds that both schemes have."""

    @classmethod
    def of(cls, what: str, differences: _Floats, *, confidence: float = 0.95) -> Finding:
        """Estimate the mean of independent normal values, with its Student-t interval, and leave it undecided.

        Examples
        --------
        >>> print(Finding.of("loss, %", np.array([1.0, 2.0, 3.0])))
        undecided: loss, % 2 [-0.4841, 4.484], 3 pairs
        """
        mean, low, high = stats.mean_interval(differences, confidence=confidence)
        return cls(outcome=Outcome.UNDECIDED, what=what, estimate=mean, low=low, high=high, pairs=len(differences))

    def decided(self, *, holds: bool, fails: bool) -> Finding:
        """Return the same numbers with their outcome; undecided where the claim neither holds nor fails."""
        outcome = Outcome.HOLDS if holds else Outcome.FAILS if fails else Outcome.UNDECIDED
        return replace(self, outcome=outcome)

    def numbers(self) -> dict[str, float | int | str | None]:
        """Return what decided as plain values; ``None`` for a bound or an estimate that is not there."""
        bounds = {"estimate": self.estimate, "low": self.low, "high": self.high}
        finite = {name: value if math.isfinite(value) else None for name, value in bounds.items()}
        return {"what": self.what, **finite, "pairs": self.pairs}

    def text(self) -> str:
        """Return what decided in words."""
        noun = "pair" if self.pairs == 1 else "pairs"
        return f"{self.what} {self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}], {self.pairs} {noun}"

    def __str__(self) -> str:
        return f"{self.outcome}: {self.text()}"


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
        ones = (pair[0] for pair in _pairs(self.scheme, self.scheme, results))
        values = np.array([self.measure(result) for result in ones], dtype=np.float64)
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
        pairs = _pairs(self.scheme, self.over, results)
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
        worst = min(found, key=lambda each: (Outcome.FAILS, Outcome.UNDECIDED, Outcome.HOLDS).index(each.outcome))
        holding = sum(each.outcome is Outcome.HOLDS for each in found)
        return replace(worst, what=f"{holding} of {len(found)} parts hold; {worst.what}")

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
        pairs = _pairs(self.scheme, self.over, results)
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
    differences = [measure(first) - measure(second) for first, second in _pairs(one, other, results)]
    return Finding.of(f"{what}, {one} less {other}", np.array(differences, dtype=np.float64))


def _pairs(one: str, other: str, results: Results) -> list[tuple[Result, Result]]:
    """Return the results of two schemes for each seed that both have."""
    for label in (one, other):
        if label not in results:
            raise ValueError(f"results: must have the scheme {label!r}, got {', '.join(map(repr, results))}")
    ones, others = ({result.cell.seed: result for result in results[label]} for label in (one, other))
    return [(ones[seed], others[seed]) for seed in sorted(ones.keys() & others.keys())]
