"""Values along an axis of a grid: a list, named values, a range, or samples of several ranges together."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictStr,
    ValidationError,
    model_validator,
)


class Strict(BaseModel):
    """A table of a grid, which refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, populate_by_name=True)


_EXPECTED = {
    "extra_forbidden": "is not a key of a grid",
    "missing": "must be given",
    "too_short": "must have at least one entry",
    "too_long": "must have fewer entries",
}
"""Messages that replace those of pydantic, by type of error."""


def one_line(error: ValidationError) -> str:
    """Return the first error as one line: the key, the accepted values and the value given."""
    first = error.errors(include_url=False)[0]
    path = ".".join(str(step) for step in first["loc"] if step != "[key]")
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if first["type"] in _EXPECTED:
        return f"{path}: {_EXPECTED[first['type']]}"
    return f"{path}: {message}, got {first['input']!r}" if path else message


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _checked_number(value: object) -> object:
    if not _is_number(value):
        raise ValueError("must be a number")
    return value


def _checked_value(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _checked_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_checked_value(item) for item in value]
    if not (isinstance(value, (bool, str)) or _is_number(value)):
        raise ValueError("must be a number, a text, true or false, or a list or table of these")
    return value


_Number = Annotated[float, PlainValidator(_checked_number)]

Value = Annotated[Any, PlainValidator(_checked_value)]
"""A value at a path of a spec: a number, a text, true or false, or a list or table of these."""


def as_text(value: Any) -> str:
    """Return a value as text."""
    return json.dumps(value) if isinstance(value, (list, Mapping)) else str(value)


class Span(Strict):
    """A range of numbers."""

    start: _Number = Field(alias="from")
    """The first number."""
    to: _Number
    """The last number."""
    scale: Literal["linear", "log"] = "linear"
    """Equal steps add (``linear``) or multiply (``log``)."""
    whole: StrictBool = False
    """Round numbers to integers."""
    unit: StrictStr | None = None
    """The unit of the numbers, such as ``ms``."""

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.start >= self.to:
            raise ValueError(f"from must be less than to, got {self.start:g} and {self.to:g}")
        if self.scale == "log" and self.start <= 0:
            raise ValueError(f"a logarithmic scale begins above 0, got from = {self.start:g}")
        return self

    def number_at(self, share: float) -> float:
        """Return the number at a share of the range, from 0 to 1."""
        if self.scale == "log":
            number = self.start * math.exp(share * math.log(self.to / self.start))
        else:
            number = self.start + share * (self.to - self.start)
        number = min(max(number, self.start), self.to)
        return round(number) if self.whole else float(f"{number:.6g}")

    def value_at(self, share: float) -> Value:
        """Return the number at a share of the range with its unit."""
        number = self.number_at(share)
        return number if self.unit is None else f"{number:g} {self.unit}"

    def __str__(self) -> str:
        return f"{self.value_at(0)} to {self.value_at(1)}"

    def share_of(self, number: float) -> float | None:
        """Return the share of the range at which a number is; ``None`` if it is outside."""
        if not self.start <= number <= self.to:
            return None
        if self.scale == "log":
            return math.log(number / self.start) / math.log(self.to / self.start)
        return (number - self.start) / (self.to - self.start)


class Range(Span):
    """Numbers in equal steps."""

    steps: Annotated[int, Field(strict=True, ge=2, le=10_000)]
    """The number of values, both ends included."""

    def values(self) -> list[Value]:
        """Return the values without duplicates, which rounding may cause."""
        return list(dict.fromkeys(self.value_at(n / (self.steps - 1)) for n in range(self.steps)))


_MAX_NAME = 100
"""The largest number of characters of the name of a value."""


def _parse_axis(given: Any) -> Any:
    if isinstance(given, Mapping) and given and not given.keys() & _RANGE_KEYS:
        return _parse_named(given)
    if isinstance(given, Mapping):
        try:
            return Range(**given)
        except ValidationError as error:
            raise ValueError(one_line(error)) from None
    if isinstance(given, (list, tuple)) and given:
        return [_checked_value(item) for item in given]
    if isinstance(given, Range):
        return given
    raise ValueError("must be a list of values, a table of names and values, or a table of from, to and steps")


_RANGE_KEYS = {field.alias or name for name, field in Range.model_fields.items()}


def _parse_named(given: Mapping[Any, Any]) -> dict[str, Any]:
    for name in given:
        if not (isinstance(name, str) and name.strip() == name and name.isprintable() and 0 < len(name) <= _MAX_NAME):
            rule = f"a name must be a text in one line of 1 to {_MAX_NAME} characters without spaces around it"
            raise ValueError(f"{rule}, got {name!r}")
    return {name: _checked_value(value) for name, value in given.items()}


Axis = Annotated[list[Any] | dict[str, Any] | Range, PlainValidator(_parse_axis)]
"""The values at one path: a list, values by name, or a range."""


def values(axis: list[Any] | dict[str, Any] | Range) -> list[Any]:
    """Return the values along an axis for display: named values by their names."""
    return axis.values() if isinstance(axis, Range) else list(axis)


class Samples(Strict):
    """Points that cover a space of several ranges evenly."""

    over: Annotated[dict[str, Span], Field(min_length=1, max_length=100)]
    """The ranges, by path."""
    points: Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
    """The number of points; Sobol's sequence is best with a power of two."""
    method: Literal["sobol", "latin-hypercube"] = "sobol"
    """A scrambled Sobol sequence (Owen 1998), or a Latin hypercube (McKay, Beckman and Conover 1979)."""
    seed: Annotated[int, Field(strict=True, ge=0)] = 1
    """The seed of the points."""

    def values(self) -> list[dict[str, Value]]:
        """Return the value at each path, for each point."""
        return [
            {path: span.value_at(share) for (path, span), share in zip(self.over.items(), point, strict=True)}
            for point in self._unit_points().tolist()
        ]

    def _unit_points(self) -> NDArray[np.float64]:
        from scipy.stats import qmc

        dimensions, rng = len(self.over), np.random.default_rng(self.seed)
        if self.method == "latin-hypercube":
            points: NDArray[np.float64] = qmc.LatinHypercube(dimensions, rng=rng).random(self.points)
        else:
            # Draw a power of two and keep the beginning: other numbers give a warning about balance.
            sobol = qmc.Sobol(dimensions, rng=rng)
            points = sobol.random_base2(math.ceil(math.log2(self.points)))[: self.points]
        return points
