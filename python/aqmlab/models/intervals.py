"""Interval arithmetic: numbers known between two bounds.

The bounds of a sum, a difference, a product or a quotient are those of its parts. They are exact if each number
occurs once in a formula. If a number occurs twice, they are too wide, never too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Self


@dataclass(frozen=True)
class Interval:
    """A number between two bounds, which are included.

    Examples
    --------
    >>> print(Interval.printed(6.0) - Interval(1, 2))
    3.95 to 5.05
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"high: must be at least low = {self.low:g}, got {self.high:g}")

    @classmethod
    def exactly(cls, value: float) -> Self:
        """Return an exactly known number."""
        return cls(value, value)

    @classmethod
    def around(cls, value: float, by: float) -> Self:
        """Return a number that is known to within ``by``."""
        return cls(value - by, value + by)

    @classmethod
    def printed(cls, value: float) -> Self:
        """Return the interval of numbers that are printed with these digits.

        Parameters
        ----------
        value
            The printed number. It is rounded to its last digit. A number without digits after the point is
            rounded to tenths, because a float does not keep the zero of 6.0.
        """
        exponent = Decimal(repr(float(value))).as_tuple().exponent
        assert isinstance(exponent, int), "a printed number is finite"
        return cls.around(value, 10.0**exponent / 2)

    @property
    def middle(self) -> float:
        """Half-way between the bounds."""
        return (self.low + self.high) / 2

    def widened(self, by: float) -> Interval:
        """Return the interval with both bounds moved outwards by this much."""
        return Interval(self.low - by, self.high + by)

    def at_least(self, bound: float) -> Interval:
        """Return the interval cut at a lower bound that the number is known to respect."""
        return Interval(max(self.low, bound), max(self.high, bound))

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval | float) -> Interval:
        by = other if isinstance(other, Interval) else Interval.exactly(other)
        corners = [one * two for one in (self.low, self.high) for two in (by.low, by.high)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        """Divide by an interval that is not negative; unbounded where the divisor can be 0."""
        if other.low < 0:
            raise ValueError(f"divisor: must not be negative, got {other.low:g}")
        return Interval(
            _quotient(self.low, other.high if self.low >= 0 else other.low),
            _quotient(self.high, other.low if self.high >= 0 else other.high),
        )

    def __str__(self) -> str:
        return f"{self.low:.3g} to {self.high:.3g}"


def _quotient(value: float, by: float) -> float:
    return value / by if by else math.copysign(math.inf, value)
