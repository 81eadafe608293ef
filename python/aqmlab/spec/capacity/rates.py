"""Rates of a link, of both directions or of each; a rate may be a table of one kind of capacity."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator

from aqmlab._core import Resolved
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
    is_same = up == down or (isinstance(up, str) and isinstance(down, str) and mean_bps(up) == mean_bps(down))
    return up if is_same else None


def mean_bps(rate: str | Mapping[str, Any]) -> int:
    """Return the mean rate of one direction in bits a second, to which loads refer.

    Raises
    ------
    SpecError
        When it is neither a bit rate nor a kind of capacity.

    Examples
    --------
    >>> mean_bps("5 Mbit/s"), mean_bps({"token_bucket": {"rate": "2 Mbit/s", "burst": "64 kB"}})
    (5000000, 2000000)
    """
    return rate_bps(rate) if isinstance(rate, str) else _mean_bps(json.dumps(rate))


@lru_cache(maxsize=16)
def _mean_bps(rate: str) -> int:
    # Short frames pass any capacity.
    link = {"rate": json.loads(rate), "overhead": "0 B", "mtu": "104 B"}
    return Resolved(json.dumps({"link": link, "tcp": {"mss": 64}})).links[0].rate_bps


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
    >>> text({"token_bucket": {"rate": "2 Mbit/s", "burst": "64 kB"}})
    '2 Mbit/s token bucket'
    """
    if (one := common(rate)) is not None:
        return _text_of_one(one)
    up, down = map(_text_of_one, both(rate))
    (forward, unit), (reverse, reverse_unit) = up.split(maxsplit=1), down.split(maxsplit=1)
    return f"{forward}/{reverse} {unit}" if unit == reverse_unit else f"{up} / {down}"


def _text_of_one(rate: str | Mapping[str, Any]) -> str:
    if isinstance(rate, str):
        return rate
    ((kind, values),) = rate.items()
    mean = values.get("rate") or f"{mean_bps(rate) / 1e6:.4g} Mbit/s"
    return f"{mean} {kind.replace('_', ' ')}"
