"""Bit rates as the engine writes them in a resolved spec, for what Python must calculate with them.

The engine checks what a person writes; this reads its canonical form: a number, a space, a unit.
"""

_BIT_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def bits_per_second(text: str) -> float:
    """``"100 Mbit/s"`` as a number of bits per second."""
    number, unit = text.split()
    return float(number) * _BIT_RATES[unit]
