"""Predicates of claims: the dictionary of words and limits for all studies.

The words were fixed after the first results had been seen, once for all studies. A claim uses them and quotes the
phrase of the paper that it rests on. Of curves, in the figure's frame (``curves.py``):

* *the same, indistinguishable, identical, no effect*: the curves are at most 2 % of the frame apart;
* *close, little, near, almost or virtually identical, similar, comparable*: at most 5 %;
* *better*: above by 1 point at least on average over the range that the sentence names, else the figure's, and nowhere
  below by more than 2 % of the frame; *much better, significantly, substantially, far*: by 2.5 points. *Not better* is
  its negation;
* *no worse, does not degrade*: nowhere below by more than 2 % of the frame.

Of numbers:

* *more, less* in a table: any difference, but a tie in the last printed digit decides nothing;
* *approximately* a number of percent, *close* numbers: within 5 % of the axis;
* a number that the paper states as a bound is a bound.

The Student-t interval of 95 % over the seeds decides; differences between schemes are paired by seed. A claim holds
where the interval is on the claimed side, fails where it is on the other side, and is undecided otherwise.
``scale`` multiplies every limit, for the sensitivity at half and at double the limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aqmlab.results import curves
from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.quantities import PrintedTables, Quantity
from aqmlab.studies.kit.findings import Finding, Outcome, Results, by_seed, worst

SAME = 2.0
"""Limit of *the same*, in percent of the frame or of an axis."""

CLOSE = 5.0
"""Limit of *close* and *approximately*, in percent of the frame or of an axis."""

BETTER = 1.0
"""Limit of *better*, in percentage points on average."""

MUCH_BETTER = 2.5
"""Limit of *much better*, in percentage points on average."""

BELOW = 2.0
"""Tolerance of *nowhere below*, in percent of the frame."""

APPROXIMATELY = 5.0
"""Limit of *approximately*, in percent of the axis."""


class Part(Protocol):
    """One predicate of a claim."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that it is about."""
        ...

    def __call__(self, results: Results, scale: float = 1.0) -> Finding:
        """Decide it from results, with all limits multiplied by ``scale``."""
        ...

    def on_paper(self, printed: PrintedTables) -> Outcome | None:
        """Decide it from the paper's own table: undecided is a tie, ``None`` a table without the numbers."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Curves:
    """A relation of two curves over a range of times."""

    one: str
    other: str
    from_ms: float = 0.0
    to_ms: float = curves.AXIS_MS

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that it is about."""
        return self.one, self.other

    def on_paper(self, printed: PrintedTables) -> Outcome | None:
        """Return ``None``: no paper prints a curve as numbers."""
        return None

    def _mean(self, results: Results, what: str, distance: Callable[[Result, Result, float, float], float]) -> Finding:
        pairs = by_seed(results, self.one, self.other)
        numbers = [distance(one, other, self.from_ms, self.to_ms) for one, other in pairs]
        return Finding.of(f"{what}, {self.one} and {self.other}", np.array(numbers, dtype=np.float64))

    def _range(self) -> str:
        return f"from {self.from_ms:,.0f} to {self.to_ms:,.0f} ms"


@dataclass(frozen=True, kw_only=True)
class SameCurve(_Curves):
    """Two curves are nowhere further apart than a limit."""

    limit: float = SAME

    def __call__(self, results: Results, scale: float = 1.0) -> Finding:
        """Decide from the mean of the pairs' distances."""
        return _at_most(
            self._mean(results, "distance of the curves, % of the frame", curves.distance), scale * self.limit
        )

    def __str__(self) -> str:
        return f"{self.one} and {self.other} are at most {self.limit:g} % of the frame apart {self._range()}"


@dataclass(frozen=True, kw_only=True)
class NoWorseCurve(_Curves):
    """A curve is nowhere visibly below another."""

    def __call__(self, results: Results, scale: float = 1.0) -> Finding:
        """Decide from the mean over the pairs of the largest distance below."""
        return _at_most(self._mean(results, "furthest below, % of the frame", curves.max_shortfall), scale * BELOW)

    def __str__(self) -> str:
        return f"{self.one} is nowhere below {self.other} by more than {BELOW:g} % of the frame {self._range()}"


@dataclass(frozen=True, kw_only=True)
class BetterCurve(_Curves):
    """A curve is above another on average, and nowhere below; or the negation."""

    by: float = BETTER
    negated: bool = False

    def __call__(self, results: Results, scale: float = 1.0) -> Finding:
        """Decide from both means, and return the numbers of the deciding one."""
        mean = self._mean(results, "above on average, points", curves.mean_excess)
        mean = mean.decided(holds=mean.low >= scale * self.by, fails=mean.high < scale * self.by)
        nowhere = NoWorseCurve(one=self.one, other=self.other, from_ms=self.from_ms, to_ms=self.to_ms)
        found = worst([mean, nowhere(results, scale)])
        if not self.negated:
            return found
        return found.decided(holds=found.outcome is Outcome.FAILS, fails=found.outcome is Outcome.HOLDS)

    def __str__(self) -> str:
        above = f"is above {self.other} by {self.by:g} points on average {self._range()}"
        nowhere = f"and nowhere below by more than {BELOW:g} % of the frame"
        return f"{'it is not so that ' if self.negated else ''}{self.one} {above}, {nowhere}"


@dataclass(frozen=True, kw_only=True)
class Greater:
    """A number is greater than another; a tie in the last printed digit decides nothing."""

    one: Quantity
    than: Quantity

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that it is about."""
        return *self.one.runs, *self.than.runs

    def __call__(self, results: Results, scale: float = 1.0) -> Finding:
        """Decide from the mean of the differences; undecided if both means are printed alike."""
        of_one = len(self.one.runs)
        groups = by_seed(results, *self.runs)
        ones = np.array([self.one.read(group[:of_one]) for group in groups], dtype=np.float64)
        others = np.array([self.than.read(group[of_one:]) for group in groups], dtype=np.float64)
        found = Finding.of(f"{self.one} less {self.than}", ones - others)
        if len(groups) and self._tie(float(ones.mean()), float(others.mean())):
            return found
        return found.decided(holds=found.low > 0, fails=found.high < 0)

    def on_paper(self, printed: PrintedTables) -> Outcome | None:
        """Decide it from the printed numbers."""
        one, than = self.one.printed(printed), self.than.printed(printed)
        if one is None or than is None:
            return None
        if self._tie(one, than):
            return Outcome.UNDECIDED
        return Outcome.HOLDS if one > than else Outcome.FAILS

    def _tie(self, one: float, than: float) -> bool:
        digits = min(self.one.digits, self.than.digits)
        return round(one, digits) == round(than, digits)

    def __str__(self) -> str:
        return f"{self.one} above {self.than}"


@dataclass(frozen=True, kw_only=True)
class InRange:
    """A number is within bounds that the paper states."""

    value: Quantity
    low: float = -math.inf
    high: float = math.inf
    tolerance: float = 0.0
    """Distance by which the number may be outside."""

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that it is about."""
        return self.value.runs

    def __call__(self, results: Results, scale: float = 1.0) -> Finding:
        """Decide from the mean over the seeds."""
        found = Finding.of(str(self.value), self.value.each(results))
        low, high = self.low - scale * self.tolerance, self.high + scale * self.tolerance
        return found.decided(holds=low <= found.low and found.high <= high, fails=found.high < low or high < found.low)

    def on_paper(self, printed: PrintedTables) -> Outcome | None:
        """Decide it from the printed number, which may be off by half of its last digit."""
        number = self.value.printed(printed)
        if number is None:
            return None
        off = 0.5 * 10.0**-self.value.digits + self.tolerance
        return Outcome.HOLDS if self.low - off <= number <= self.high + off else Outcome.FAILS

    def __str__(self) -> str:
        if self.tolerance:
            return f"{self.value} is {self.low:g}, within {self.tolerance:g}"
        least = [f"at least {self.low:g}"] if self.low > -math.inf else []
        most = [f"at most {self.high:g}"] if self.high < math.inf else []
        return f"{self.value} is {' and '.join(least + most)}"


def approximately(value: Quantity, number: float, *, limit: float = APPROXIMATELY, axis: float = 100.0) -> InRange:
    """Claim that a value is near a number.

    Parameters
    ----------
    value
        The value.
    number
        The number.
    limit
        Percent of the axis.
    axis
        Length of the axis in the number's unit; 100 for percent.
    """
    return InRange(value=value, low=number, high=number, tolerance=limit / 100 * axis)


def _at_most(found: Finding, limit: float) -> Finding:
    return found.decided(holds=found.high <= limit, fails=found.low > limit)
