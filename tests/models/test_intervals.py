from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqmlab.models.intervals import Interval

numbers = st.floats(-1e6, 1e6)
positive = st.floats(1e-3, 1e6)
shares = st.floats(0, 1)


def between(one: float, other: float) -> Interval:
    return Interval(min(one, other), max(one, other))


def inside(interval: Interval, share: float) -> float:
    return min(max(interval.low + share * (interval.high - interval.low), interval.low), interval.high)


@given(st.floats(0, 1000), st.sampled_from([1, 2]))
def test_what_was_rounded_is_in_the_interval_of_what_was_printed(value: float, digits: int) -> None:
    interval = Interval.printed(round(value, digits))
    assert interval.low - 1e-9 <= value <= interval.high + 1e-9
    assert interval.high - interval.low <= 0.1 + 1e-9


def test_each_printed_digit_narrows_an_interval_tenfold() -> None:
    one, two = Interval.printed(0.1), Interval.printed(0.04)
    assert (one.low, one.high) == pytest.approx((0.05, 0.15))
    assert (two.low, two.high) == pytest.approx((0.035, 0.045))


@given(numbers, numbers, positive, positive, shares, shares)
def test_arithmetic_covers_whatever_the_parts_may_be(
    a: float, b: float, c: float, d: float, one: float, two: float
) -> None:
    left, right = between(a, b), between(c, d)
    x, y = inside(left, one), inside(right, two)
    for result, exact in (
        (left + right, x + y),
        (left - right, x - y),
        (left * right, x * y),
        (left / right, x / y),
    ):
        slack = 1e-9 * (1 + abs(exact))
        assert result.low - slack <= exact <= result.high + slack


@given(positive, positive, positive, positive)
def test_its_bounds_are_reached(a: float, b: float, c: float, d: float) -> None:
    left, right = between(a, b), between(c, d)
    assert left / right == Interval(left.low / right.high, left.high / right.low)
    assert left - right == Interval(left.low - right.high, left.high - right.low)


def test_divided_by_what_may_be_nothing_it_has_no_bound() -> None:
    nothing = Interval(0, 2)
    assert Interval(1, 4) / nothing == Interval(0.5, math.inf)
    assert Interval(-1, 4) / nothing == Interval(-math.inf, math.inf)


def test_mistakes_are_told() -> None:
    with pytest.raises(ValueError, match="high: must be at least low = 2"):
        Interval(2, 1)
    with pytest.raises(ValueError, match="divisor: must not be negative"):
        Interval(1, 2) / Interval(-1, 1)
