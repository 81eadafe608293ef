"""Findings: outcomes with the numbers that decided them, over results that are paired by seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab import stats
from aqmlab.store.result import Result

_Floats = NDArray[np.float64]

Results = Mapping[str, Iterable[Result]]
"""The results of each scheme, by its label."""

Measure = Callable[[Result], float]
"""A number that a result has: ``lambda result: result.summary["loss_percent"]``."""


HALF_WIDTH = "± is half the width of the 95 % interval over the seeds."
"""The explanation of a table with :func:`mean_and_half`."""


def mean_and_half(numbers: Sequence[float]) -> tuple[float, float]:
    """Return a mean over seeds, and half the width of its 95 % interval; NaN for both where a number is NaN."""
    if any(math.isnan(number) for number in numbers):
        return math.nan, math.nan
    mean, _, high = stats.mean_interval(np.array(numbers))
    return mean, high - mean


def means(results: Sequence[Result], measures: Iterable[Measure]) -> list[float]:
    """Return the mean of each measure, and half the width of its interval: a row of a table."""
    return [number for measure in measures for number in mean_and_half([measure(result) for result in results])]


class Outcome(StrEnum):
    """Outcome of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    INCONSISTENT = "inconsistent"
    """The paper's own numbers contradict it."""


def tally(outcomes: Sequence[Outcome]) -> str:
    """Count claims by outcome, in words; inconsistent ones where there are any.

    Examples
    --------
    >>> tally([Outcome.HOLDS, Outcome.HOLDS, Outcome.FAILS])
    '3 claims: 2 hold, 1 fails, 0 undecided'
    """
    plurals = {Outcome.HOLDS: "hold", Outcome.FAILS: "fail"}
    counts = {outcome: outcomes.count(outcome) for outcome in Outcome}
    if not counts[Outcome.INCONSISTENT]:
        del counts[Outcome.INCONSISTENT]
    noun = "claim" if len(outcomes) == 1 else "claims"
    words = (f"{n} {it if n == 1 else plurals.get(it, it)}" for it, n in counts.items())
    return f"{len(outcomes)} {noun}: " + ", ".join(words)


def worst(findings: Sequence[Finding]) -> Finding:
    """Return the first that fails, else the first that is undecided, else the first."""
    order = (Outcome.FAILS, Outcome.UNDECIDED, Outcome.HOLDS)
    return min(findings, key=lambda each: order.index(each.outcome))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An outcome with the numbers that decided it."""

    outcome: Outcome
    what: str
    """The estimated quantity, with its unit."""
    estimate: float
    """Mean over the pairs; NaN without pairs."""
    low: float
    high: float
    """Upper bound of its confidence interval; the interval is unbounded with fewer than two pairs."""
    pairs: int
    """Number of seeds that all schemes have."""
    parts: int = 1
    """Number of parts that the finding combines."""
    held: int = 0
    """Number of parts that hold."""

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
        return replace(self, outcome=outcome, held=int(holds))

    def of_all(self, findings: Sequence[Finding]) -> Finding:
        """Return the same numbers, counting the parts of all findings and those that hold."""
        return replace(self, parts=sum(each.parts for each in findings), held=sum(each.held for each in findings))

    def numbers(self) -> dict[str, float | int | str | None]:
        """Return the numbers as plain values; ``None`` for a bound or an estimate that is not finite."""
        bounds = {"estimate": self.estimate, "low": self.low, "high": self.high}
        finite = {name: value if math.isfinite(value) else None for name, value in bounds.items()}
        return {"what": self.what, **finite, "pairs": self.pairs}

    @classmethod
    def from_numbers(cls, outcome: Outcome, numbers: Mapping[str, Any], *, parts: int, held: int) -> Finding:
        """Restore a finding from :meth:`numbers`, with its outcome and its counts of parts."""
        missing = {"estimate": math.nan, "low": -math.inf, "high": math.inf}
        known = {name: value for name, value in numbers.items() if value is not None}
        return cls(outcome=outcome, parts=parts, held=held, **{**missing, **known})

    def text(self) -> str:
        """Return the deciding numbers as text."""
        noun = "pair" if self.pairs == 1 else "pairs"
        several = f"{self.held} of {self.parts} parts hold; " if self.parts > 1 else ""
        return f"{several}{self.what} {self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}], {self.pairs} {noun}"

    def __str__(self) -> str:
        return f"{self.outcome}: {self.text()}"


def by_seed(results: Results, *labels: str) -> list[tuple[Result, ...]]:
    """Return the results of these schemes for each seed that all of them have.

    Raises
    ------
    ValueError
        When a scheme has no results.
    """
    for label in labels:
        if label not in results:
            raise ValueError(f"results: must have the scheme {label!r}, got {', '.join(map(repr, results))}")
    found = [{result.cell.seed: result for result in results[label]} for label in labels]
    common = set.intersection(*map(set, found))
    return [tuple(each[seed] for each in found) for seed in sorted(common)]
