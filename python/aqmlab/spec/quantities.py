"""Quantities in a spec: text with a unit, which the engine parses."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from aqmlab._core import SpecError, bits_per_second


def _with_unit(example: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f'write a unit, such as "{example}"')
        return value

    return BeforeValidator(check)


BitRate = Annotated[str, _with_unit("100 Mbit/s")]
Duration = Annotated[str, _with_unit("5 ms")]
Bytes = Annotated[str, _with_unit("1500 B")]


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
