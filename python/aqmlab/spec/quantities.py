"""Quantities in a spec: text with a unit, which the engine parses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator

from aqmlab._core import SpecError, bits_per_second, seconds


def with_unit(example: str) -> Callable[[object], object]:
    """Return a check that a value is text, for a quantity such as ``example``."""

    def check(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f'write a unit, such as "{example}"')
        return value

    return check


BitRate = Annotated[str, BeforeValidator(with_unit("100 Mbit/s"))]
Duration = Annotated[str, BeforeValidator(with_unit("5 ms"))]
Bytes = Annotated[str, BeforeValidator(with_unit("1500 B"))]


def rate_bps(rate: str) -> int:
    """Return a link's rate in bits a second.

    Raises
    ------
    SpecError
        When it is not a bit rate.
    """
    try:
        return bits_per_second(rate)
    except ValueError as error:
        raise SpecError(f"link.rate: {error}") from None


def round_trips_ms(text: str) -> tuple[int, int]:
    """Return the shortest and the longest round-trip time in whole milliseconds.

    Raises
    ------
    SpecError
        When the text is neither a time nor a range of times.

    Examples
    --------
    >>> round_trips_ms("20 ms"), round_trips_ms("10..80 ms")
    ((20, 20), (10, 80))
    """
    match = re.fullmatch(r"\s*([\d.]+?)\s*([a-z]*)\s*(?:\.\.\s*([\d.]+)\s*([a-z]+)\s*)?", text, re.ASCII)
    if match is None:
        raise SpecError(f"rtt: must be as '20 ms' or '10..80 ms', got {text!r}")
    low, unit, high, unit_high = match.groups()
    first = f"{low} {unit or unit_high or ''}".strip()
    return _whole_ms(first), _whole_ms(first if high is None else f"{high} {unit_high}")


def uniform_rtt(low_ms: int, high_ms: int) -> dict[str, Any]:
    """Return a table of users' round-trip times that are equally likely in a range."""
    return {"source": "as asked", "distribution": {"uniform_ms": {"min": low_ms, "max": high_ms}}}


def users_rtt(text: str) -> str | dict[str, Any]:
    """Return the value of ``users.rtt`` for a time or a range of times; the name of a table stays as it is."""
    return uniform_rtt(*round_trips_ms(text)) if re.match(r"\s*[\d.]", text) else text


def _whole_ms(text: str) -> int:
    try:
        ms = 1e3 * seconds(text)
    except ValueError as error:
        raise SpecError(f"rtt: {error}") from None
    if abs(ms - round(ms)) > 1e-6:
        raise SpecError(f"rtt: must be whole milliseconds, got {text}")
    return round(ms)
