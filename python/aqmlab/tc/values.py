"""Values in ``tc``'s notation (``5ms``, ``20Mbit``, ``32Mb``, ``1000p``) and in that of a spec (``5 ms``)."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from aqmlab._core import bits_per_second, seconds, size_in_bytes

# Sources: iproute2, lib/utils.c and lib/utils_math.c.
_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs"), Fraction(1)),
    **dict.fromkeys(("ms", "msec", "msecs"), Fraction(1, 1000)),
    **dict.fromkeys(("", "us", "usec", "usecs"), Fraction(1, 1_000_000)),
    **dict.fromkeys(("ns", "nsec", "nsecs"), Fraction(1, 1_000_000_000)),
}
_BYTES = {
    **dict.fromkeys(("", "b"), Fraction(1)),
    **dict.fromkeys(("k", "kb"), Fraction(1 << 10)),
    **dict.fromkeys(("m", "mb"), Fraction(1 << 20)),
    **dict.fromkeys(("g", "gb"), Fraction(1 << 30)),
}
_BITS_PER_SECOND = {
    "": Fraction(1),
    **{
        f"{prefix}{unit}": Fraction(factor * bits)
        for prefix, factor in {
            "": 1,
            "k": 1000,
            "m": 1000**2,
            "g": 1000**3,
            "t": 1000**4,
            "ki": 1 << 10,
            "mi": 1 << 20,
            "gi": 1 << 30,
            "ti": 1 << 40,
        }.items()
        for unit, bits in (("bit", 1), ("bps", 8))
    },
}

TIME, SIZE, RATE, LIMIT = "time", "bytes", "bit rate", "packets or bytes"
"""The units of parameters, as in the catalogue; values with other units are plain numbers."""


def read(text: str, unit: str) -> str | int | float:
    """Return a value of ``tc`` as a spec writes it.

    Raises
    ------
    ValueError
        When the text is no such value.

    Examples
    --------
    >>> read("5ms", TIME), read("9500Kbit", RATE), read("32Mb", SIZE), read("1000p", LIMIT)
    ('5 ms', '9.5 Mbit/s', '33554432 B', '1000 packets')
    """
    if unit == TIME:
        amount = _amount(text, _SECONDS, "a time such as 5ms") * 10**9
        return _with_unit(amount, {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1})
    if unit == RATE:
        amount = _amount(text, _BITS_PER_SECOND, "a rate such as 20mbit")
        return _with_unit(amount, {"Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 1000, "bit/s": 1})
    if unit == SIZE:
        return f"{round(_amount(text, _BYTES, 'a size such as 1514 or 32Mb'))} B"
    amount = _amount(text, {"": Fraction(1), "p": Fraction(1), "%": Fraction(1)}, "a number")
    if unit == LIMIT:
        return f"{int(amount)} packets"
    return int(amount) if amount.denominator == 1 else float(amount)


def written(value: object, unit: str) -> str | None:
    """Return a value of a spec as ``tc`` takes it; ``None`` for a limit in bytes, which only ``bfifo`` has."""
    text = str(value)
    if unit == TIME:
        return "0us" if seconds(text) == 0 else text.replace(" ", "")
    if unit == RATE:
        return rate(bits_per_second(text))
    if unit == SIZE:
        return f"-{size_in_bytes(text[1:])}" if text.startswith("-") else str(size_in_bytes(text))
    if unit == LIMIT:
        number, _, kind = text.partition(" ")
        return number if kind in ("", "packets", "packet") else None
    # All digits: six of them would be another probability.
    return f"{Decimal(text).normalize():f}" if isinstance(value, float) else text


def rate(bits: int) -> str:
    """Return a bit rate as ``tc`` takes it."""
    return f"{bits / 1e6:.9g}mbit"


def _amount(text: str, units: dict[str, Fraction], expected: str) -> Fraction:
    match = re.fullmatch(r"([+-]?\d+(?:\.\d+)?)([A-Za-z%]*)", text, re.ASCII)
    if match is None or match[2].lower() not in units:
        raise ValueError(f"expected {expected}, got {text}")
    return Fraction(match[1]) * units[match[2].lower()]


def _with_unit(amount: Fraction, units: dict[str, int]) -> str:
    """Return an amount of the smallest unit in the largest one in which it has at most three decimals."""
    whole = round(amount)
    for unit, size in units.items():
        if whole >= size and 1000 * whole % size == 0:
            return f"{whole / size:.15g} {unit}"
    return f"{whole} {unit}"
