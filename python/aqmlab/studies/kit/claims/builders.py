"""Builders of parts of claims, named after the words of the dictionary."""

from __future__ import annotations

import math
from collections.abc import Iterable

from aqmlab.results.curves import AXIS_MS
from aqmlab.studies.kit.claims.predicates import (
    BETTER,
    CLOSE,
    MUCH_BETTER,
    SAME,
    BetterCurve,
    Greater,
    InRange,
    NoWorseCurve,
    Part,
    SameCurve,
    approximately,
)
from aqmlab.studies.kit.claims.quantities import Column, change_percent, quantity


def same(one: str, *others: str, from_ms: float = 0.0, to_ms: float = AXIS_MS, limit: float = SAME) -> Iterable[Part]:
    """Claim that a run's curve is the same as those of others."""
    return (SameCurve(one=one, other=other, from_ms=from_ms, to_ms=to_ms, limit=limit) for other in others)


def close(one: str, *others: str, from_ms: float = 0.0, to_ms: float = AXIS_MS) -> Iterable[Part]:
    """Claim that a run's curve is close to those of others."""
    return same(one, *others, from_ms=from_ms, to_ms=to_ms, limit=CLOSE)


def better(one: str, *others: str, from_ms: float = 0.0, to_ms: float = AXIS_MS, by: float = BETTER) -> Iterable[Part]:
    """Claim that a run's curve is better than those of others."""
    return (BetterCurve(one=one, other=other, from_ms=from_ms, to_ms=to_ms, by=by) for other in others)


def much_better(one: str, *others: str, from_ms: float = 0.0, to_ms: float = AXIS_MS) -> Iterable[Part]:
    """Claim that a run's curve is much better than those of others."""
    return better(one, *others, from_ms=from_ms, to_ms=to_ms, by=MUCH_BETTER)


def not_better(one: str, *others: str, from_ms: float = 0.0) -> Iterable[Part]:
    """Claim that a run's curve is not better than those of others."""
    return (BetterCurve(one=one, other=other, from_ms=from_ms, negated=True) for other in others)


def no_worse(one: str, *others: str, from_ms: float = 0.0) -> Iterable[Part]:
    """Claim that a run's curve is nowhere visibly below those of others."""
    return (NoWorseCurve(one=one, other=other, from_ms=from_ms) for other in others)


def more(one: str, *others: str, column: Column) -> Iterable[Part]:
    """Claim that a run has more of a column than others; a run is not compared with itself."""
    return (Greater(one=quantity(column, one), than=quantity(column, other)) for other in others if other != one)


def fewer(one: str, *others: str, column: Column) -> Iterable[Part]:
    """Claim that a run has less of a column than others; a run is not compared with itself."""
    return (Greater(one=quantity(column, other), than=quantity(column, one)) for other in others if other != one)


def little_change(one: str, *others: str, column: Column, limit: float = CLOSE) -> Iterable[Part]:
    """Claim that a column of a run differs by at most ``limit`` percent from those of others."""
    return (approximately(change_percent(column, one, other), 0, limit=limit) for other in others)


def within(column: Column, run: str, low: float = -math.inf, high: float = math.inf) -> Part:
    """Claim that a column of a run is within bounds."""
    return InRange(value=quantity(column, run), low=low, high=high)
