"""Bit rates, times and sizes, for what Python must calculate with them.

The engine checks what goes into a spec; this reads the same notation: a decimal number and a unit, ``2.5 ms``.
"""

import math
import re
from collections.abc import Mapping

_BIT_RATES = {"Mbit/s": 1e6, "Gbit/s": 1e9, "kbit/s": 1e3, "bit/s": 1.0}
_TIMES = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "us": 1e-6, "ns": 1e-9}
_SIZES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}


def bits_per_second(text: str) -> float:
    """``"100 Mbit/s"`` as a number of bits per second."""
    return _amount(text, _BIT_RATES)


def seconds(text: str) -> float:
    """``"200 ms"`` as a number of seconds."""
    return _amount(text, _TIMES)


def age_in_seconds(text: str) -> float:
    """``"7 d"`` as a number of seconds: how old something is, in days too."""
    return _amount(text, {"d": 86400.0, **_TIMES})


def size_in_bytes(text: str) -> float:
    """``"1.5 kB"`` as a number of bytes."""
    return _amount(text, _SIZES)


def _amount(text: str, units: Mapping[str, float]) -> float:
    parts = re.fullmatch(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\D\S*)?", text.strip(), re.ASCII)
    example = next(iter(units))
    if parts is None:
        raise ValueError(f'write a decimal number and a unit, such as "5 {example}", got {text!r}')
    number, unit = parts.groups()
    if unit is None:
        raise ValueError(f'write a unit, such as "{number} {example}", got {text!r}')
    if unit not in units:
        raise ValueError(f"the unit must be one of {', '.join(units)}, got {text!r}")
    amount = float(number) * units[unit]
    if not math.isfinite(amount):
        raise ValueError(f"is too large, got {text[:20]!r}")
    return amount
