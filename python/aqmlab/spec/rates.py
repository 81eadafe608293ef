"""Rates of a link: one for both directions, or one for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from aqmlab.spec.quantities import rate_bps, with_unit

UP, DOWN = "up", "down"
"""The keys of direction 0 and direction 1."""


def _check(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _check(rate) if key in (UP, DOWN) else rate for key, rate in value.items()}
    return with_unit("100 Mbit/s")(value)


Rate = Annotated[str | dict[str, Any], BeforeValidator(_check)]


def both(rate: str | Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the rates of direction 0 and direction 1.

    Examples
    --------
    >>> both("5 Mbit/s"), both({"up": "2 Mbit/s", "down": "9 Mbit/s"})
    (('5 Mbit/s', '5 Mbit/s'), ('2 Mbit/s', '9 Mbit/s'))
    """
    if isinstance(rate, Mapping) and rate.keys() == {UP, DOWN}:
        return rate[UP], rate[DOWN]
    return rate, rate


def common(rate: str | Mapping[str, Any]) -> Any:
    """Return the rate of both directions; ``None`` if they differ."""
    up, down = both(rate)
    is_same = up == down or (isinstance(up, str) and isinstance(down, str) and rate_bps(up) == rate_bps(down))
    return up if is_same else None


def change(rate: str | Mapping[str, Any], of_one: Callable[[Any], Any]) -> Any:
    """Return a rate with ``of_one`` applied to each direction."""
    if (one := common(rate)) is not None:
        return of_one(one)
    up, down = both(rate)
    return {UP: of_one(up), DOWN: of_one(down)}


def text(rate: str | Mapping[str, Any]) -> str:
    """Return a rate as text, of two directions both.

    Examples
    --------
    >>> text("5 Mbit/s"), text({"up": "2 Mbit/s", "down": "9 Mbit/s"}), text({"up": "500 kbit/s", "down": "9 Mbit/s"})
    ('5 Mbit/s', '2/9 Mbit/s', '500 kbit/s / 9 Mbit/s')
    """
    if (one := common(rate)) is not None:
        return str(one)
    up, down = map(str, both(rate))
    (forward, unit), (reverse, reverse_unit) = up.split(), down.split()
    return f"{forward}/{reverse} {unit}" if unit == reverse_unit else f"{up} / {down}"
