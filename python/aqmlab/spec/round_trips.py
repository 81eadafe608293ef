"""Round-trip times as a person types them: a time, or a range of times."""

from __future__ import annotations

import re
from typing import Any

from aqmlab._core import SpecError, seconds


def read(text: str) -> tuple[int, int]:
    """Return the shortest and the longest round-trip time in whole milliseconds.

    Raises
    ------
    SpecError
        When the text is neither a time nor a range of times.

    Examples
    --------
    >>> read("20 ms"), read("10..80 ms")
    ((20, 20), (10, 80))
    """
    found = re.fullmatch(r"\s*([\d.]+?)\s*([a-z]*)\s*(?:\.\.\s*([\d.]+)\s*([a-z]+)\s*)?", text, re.ASCII)
    if found is None:
        raise SpecError(f"rtt: must be as '20 ms' or '10..80 ms', got {text!r}")
    low, unit, high, unit_high = found.groups()
    first = f"{low} {unit or unit_high or ''}".strip()
    return _whole_ms(first), _whole_ms(first if high is None else f"{high} {unit_high}")


def uniform(low_ms: int, high_ms: int) -> dict[str, Any]:
    """Return a table of users' round-trip times that are equally likely in a range."""
    return {"source": "as asked", "distribution": {"uniform_ms": {"min": low_ms, "max": high_ms}}}


def users_rtt(text: str) -> str | dict[str, Any]:
    """Return the value of ``users.rtt`` for a time or a range of times; the name of a table stays as it is."""
    return uniform(*read(text)) if re.match(r"\s*[\d.]", text) else text


def _whole_ms(text: str) -> int:
    try:
        ms = 1e3 * seconds(text)
    except ValueError as error:
        raise SpecError(f"rtt: {error}") from None
    if abs(ms - round(ms)) > 1e-6:
        raise SpecError(f"rtt: must be whole milliseconds, got {text}")
    return round(ms)
