"""The parameters of a custom class: its ``Config`` dataclass, and their entries in the catalogue's form."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked
from pydantic.fields import FieldInfo

from aqmlab._core import SpecError, seconds
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import errors
from aqmlab.disciplines.custom.base import CustomClass

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)

_UNITS_NS = {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0}
"""The units of times, in nanoseconds."""


def _texts(field: FieldInfo) -> tuple[str, str]:
    """Return the unit and the meaning of a parameter; an empty text if one is not given."""
    unit, meaning, *_ = (*(text for text in field.metadata if isinstance(text, str)), "", "")
    return unit, meaning


@dataclass(frozen=True)
class _NoParameters:
    pass


@dataclass(frozen=True)
class Parameters:
    """The parameters of a custom class."""

    name: str
    """The name of the class in the form ``module:Class``."""
    custom: type[CustomClass]
    path: str
    """The path of its table in a spec, for messages."""
    reserved: Mapping[str, str]
    """The names that no parameter may have, with the reasons."""

    @cached_property
    def _config(self) -> Any:
        config = getattr(self.custom, "Config", _NoParameters)
        if not (isinstance(config, type) and dataclasses.is_dataclass(config)):
            raise ValueError(f"{self.name}: Config must be a dataclass, got {config!r}")
        return checked(config, config=_STRICT, frozen=config.__dataclass_params__.frozen)  # type: ignore[attr-defined]

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self._config)

    @property
    def _fields(self) -> dict[str, FieldInfo]:
        fields: dict[str, FieldInfo] = self._config.__pydantic_fields__
        return fields

    def check(self) -> None:
        """Raise a ``ValueError`` when a parameter has a reserved name or no default."""
        for name, field in self._fields.items():
            if name in self.reserved:
                raise ValueError(f"{self.name}: no parameter may be called {name}: {self.reserved[name]}")
            if field.is_required():
                raise ValueError(f"{self.name}: the parameter {name} needs a default")

    @cached_property
    def entries(self) -> tuple[catalogue.Parameter, ...]:
        """The parameters in the form of the catalogue."""
        return tuple(self._entry(*item) for item in self._fields.items())

    def _entry(self, name: str, field: FieldInfo) -> catalogue.Parameter:
        unit, meaning = _texts(field)
        default = field.get_default(call_default_factory=True)
        return catalogue.Parameter(
            name=name,
            unit=unit or getattr(field.annotation, "__name__", ""),
            default=str(default).removesuffix(".0"),
            meaning=meaning,
            source=self.name,
        )

    def _entry_of(self, name: str) -> catalogue.Parameter:
        (entry,) = (entry for entry in self.entries if entry.name == name)
        return entry

    def configure(self, parameters: Mapping[str, Any]) -> Any:
        """Return an instance of ``Config`` with these parameters, of which reserved ones are left out.

        Raises
        ------
        SpecError
            When a value is not accepted.
        """
        values = {name: self._in_unit(name, value) for name, value in parameters.items() if name not in self.reserved}
        try:
            # In JSON mode pydantic accepts a text for a member of an enumeration, and a list for a tuple.
            return self._adapter.validate_json(json.dumps(values, default=str))
        except ValidationError as error:
            raise SpecError(self._one_line(error)) from None
        except errors.CONTROL_EXCEPTIONS:
            raise
        except BaseException as error:
            raise errors.raised(self.custom, "Config", error) from error

    def values(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all parameters, with the defaults of those that are not given."""
        values: dict[str, Any] = self._adapter.dump_python(self.configure(parameters), mode="json")
        return values

    def _in_unit(self, name: str, value: object) -> object:
        """Convert a time with a unit, such as ``15 ms``, to a number in the parameter's unit."""
        field = self._fields.get(name)
        unit = _texts(field)[0] if field is not None else ""
        if unit not in _UNITS_NS or not isinstance(value, str):
            return value
        try:
            number = round(seconds(value) * 1e9) / _UNITS_NS[unit]
        except ValueError as error:
            default = self._entry_of(name).default
            raise SpecError(f"{self.path}.{name}: {error} ({unit}; default {default})") from None
        # The parameter may be an integer.
        return int(number) if number.is_integer() else number

    def _one_line(self, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        path = ".".join(str(step) for step in (self.path, *first["loc"]))
        if not first["loc"]:
            return f"{path}: {message}"
        entry = self._entry_of(str(first["loc"][0]))
        return f"{path}: {message}, got {first['input']!r} ({entry.unit}; default {entry.default})"
