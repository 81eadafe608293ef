"""The parameters of a custom law: validation of its ``Config`` dataclass, and its catalogue entry."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked
from pydantic.fields import FieldInfo

from aqmlab._core import LinkContext, SpecError, Stream, seconds
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import errors, hooks
from aqmlab.disciplines.custom.law import Law

LawFactory = Callable[[LinkContext, Stream], object]
"""Makes the law of one queue."""

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)

_RESERVED = {
    "limit": "it belongs to the queue: set the class attribute limit",
    catalogue.NOECN: "it belongs to the queue",
    "ecn": "it belongs to the hosts",
    "source": "it is the hash of the module",
}
"""Reserved names of parameters, with the reasons."""

_QUEUE_PARAMETERS = ("limit", catalogue.NOECN)
"""The reserved names that a queue's table may have."""


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
class CustomLaw:
    """A law class with its name and the hash of its source."""

    name: str
    """The name in the form ``module:Class``."""
    law: type[Law]
    source: str
    """The hash of its module's source, or of its own source without a module; empty if nothing is stored."""

    @cached_property
    def _config(self) -> Any:
        config = getattr(self.law, "Config", _NoParameters)
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
        """Raise a ``ValueError`` when the class is not a valid law."""
        if not (isinstance(self.law, type) and issubclass(self.law, Law)):
            raise ValueError(f"{self.name} must be a class derived from aqmlab.Law, got {self.law!r}")
        if misspelt_hooks := hooks.misspelt_hooks(self.law):
            raise ValueError(f"{self.name}: {misspelt_hooks}")
        if self.law.on_enqueue is Law.on_enqueue and self.law.on_dequeue is Law.on_dequeue:
            raise ValueError(f"{self.name} judges nothing: give it on_enqueue or on_dequeue")
        if hooks.lacks_timeout(self.law):
            raise ValueError(f"{self.name}: on_timeout is never called, since nothing sets next_timeout")
        for name, field in self._fields.items():
            if name in _RESERVED:
                raise ValueError(f"{self.name}: no parameter may be called {name}: {_RESERVED[name]}")
            if field.is_required():
                raise ValueError(f"{self.name}: the parameter {name} needs a default")

    @cached_property
    def discipline(self) -> catalogue.Discipline:
        """Its entry in the form of the catalogue."""
        summary = (self.law.__doc__ or "").strip().partition("\n")[0]
        limit = catalogue.Parameter(
            name="limit",
            unit="packets or bytes",
            default=str(self.law.limit),
            meaning="The capacity of the queue.",
            source=self.name,
        )
        return catalogue.Discipline(
            name=self.name,
            family="custom",
            decides_at="enqueue" if self.law.on_dequeue is Law.on_dequeue else "dequeue",
            summary=summary,
            parameters=(*(self._parameter(*item) for item in self._fields.items()), limit),
            page=inspect.cleandoc(self.law.__doc__ or ""),
        )

    def _declared_parameter(self, name: str) -> catalogue.Parameter:
        """Return a parameter in the form of the catalogue."""
        (parameter,) = (
            parameter_of_law for parameter_of_law in self.discipline.parameters if parameter_of_law.name == name
        )
        return parameter

    def _parameter(self, name: str, field: FieldInfo) -> catalogue.Parameter:
        unit, meaning = _texts(field)
        default = field.get_default(call_default_factory=True)
        return catalogue.Parameter(
            name=name,
            unit=unit or getattr(field.annotation, "__name__", ""),
            default=str(default).removesuffix(".0"),
            meaning=meaning,
            source=self.name,
        )

    def configure(self, parameters: Mapping[str, Any]) -> Any:
        """Return an instance of ``Config`` with these parameters.

        Raises
        ------
        SpecError
            When a value is not accepted.
        """
        values = {name: self._in_unit(name, value) for name, value in parameters.items() if name not in _RESERVED}
        try:
            # In JSON mode pydantic accepts a text for a member of an enumeration, and a list for a tuple.
            return self._adapter.validate_json(json.dumps(values, default=str))
        except ValidationError as error:
            raise SpecError(self._one_line(error)) from None
        except errors.CONTROL_EXCEPTIONS:
            raise
        except BaseException as error:
            raise errors.raised(self.law, "Config", error) from error

    def _in_unit(self, name: str, value: object) -> object:
        """Convert a time with a unit, such as ``15 ms``, to a number in the parameter's unit."""
        field = self._fields.get(name)
        unit = _texts(field)[0] if field is not None else ""
        if unit not in _UNITS_NS or not isinstance(value, str):
            return value
        try:
            number = round(seconds(value) * 1e9) / _UNITS_NS[unit]
        except ValueError as error:
            default = self._declared_parameter(name).default
            raise SpecError(f"queue.{self.name}.{name}: {error} ({unit}; default {default})") from None
        # The parameter may be an integer.
        return int(number) if number.is_integer() else number

    def _one_line(self, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        path = ".".join(str(step) for step in ("queue", self.name, *first["loc"]))
        if not first["loc"]:
            return f"{path}: {message}"
        parameter = self._declared_parameter(str(first["loc"][0]))
        return f"{path}: {message}, got {first['input']!r} ({parameter.unit}; default {parameter.default})"

    def with_defaults(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with all defaults, and the hash of the source."""
        config: dict[str, Any] = self._adapter.dump_python(self.configure(parameters), mode="json")
        queue_parameters = {
            "limit": self.law.limit,
            **{name: parameters[name] for name in _QUEUE_PARAMETERS if name in parameters},
        }
        return {**config, **queue_parameters, "source": self.source}

    def maker(self, parameters: Mapping[str, Any]) -> LawFactory:
        """Return a function that makes a law with these parameters."""
        self.configure(parameters)

        def make(link: LinkContext, rng: Stream) -> object:
            # Each direction has a Config of its own, because a law may change it.
            config = self.configure(parameters)
            try:
                return self.law(config, link, rng)
            except errors.CONTROL_EXCEPTIONS:
                raise
            except BaseException as error:
                raise errors.raised(self.law, "__init__", error) from error

        return make
