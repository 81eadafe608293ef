"""The base class of the parts of a spec, which takes defaults and texts from the engine's declarations.

A class lists the keys and their types in Python, for type checkers and editors. Errors are one line.
"""

from __future__ import annotations

import difflib
import inspect
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aqmlab._core import SpecError
from aqmlab.spec import schema

DECLARED: Any = object()
"""A placeholder for the default that the engine declares, ``None`` if it declares none."""


_REPLACED = {"rate_back": "write rate = {up = ..., down = ...}"}
"""Former keys, with the text to write instead."""

TAGS = ("(table)", "(list)")
"""The names of the two forms of a part, in the locations of pydantic's errors alone."""


class SpecPart(BaseModel):
    """A table of a spec, or the whole spec."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True)

    def __init_subclass__(cls, *, table: str | None = None, **settings: Any) -> None:
        """Fill in the engine's declaration of ``table`` before pydantic builds the model."""
        super().__init_subclass__(**settings)
        declared = schema.part(table or cls.__name__)
        cls.__doc__ = cls.__dict__.get("__doc__") or declared["description"]
        for name in inspect.get_annotations(cls):
            key = declared["properties"].get(name)
            if key is None:
                continue
            default = cls.__dict__.get(name, ...)
            default = key.get("default") if default is DECLARED else default
            setattr(cls, name, Field(default, description=key.get("description")))

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SpecError(_one_line(error, type(self))) from None

    # pydantic checks a nested part with its parent, so that errors have the whole path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


def _one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the first error as one line: the path, the accepted values and the value given."""
    first = error.errors(include_url=False)[0]
    loc = tuple(step for step in first["loc"] if step not in TAGS)
    steps = loc if model.__name__ == schema.ROOT else (model.__name__, *loc)
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
    if first["type"] == "extra_forbidden":
        if loc[-1] in _REPLACED:
            return f"{path}: {_REPLACED[str(loc[-1])]}, got {first['input']!r}"
        return f"{path}: unknown key{_suggestion(str(steps[-1]), loc, model)}"
    if first["type"] in ("model_type", "model_attributes_type"):
        return f"{path}: must be a table of {', '.join(_fields(loc, model))}, got {first['input']!r}"
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{path}: {message}, got {first['input']!r}"


def _suggestion(name: str, loc: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Return the accepted keys instead of an unknown one."""
    allowed = _fields(loc[:-1], model)
    other_paths = [f"{part}.{name}" for part in model.model_fields if name in _fields((part,), model)]
    similar = difflib.get_close_matches(name, allowed, n=1) or other_paths[:1]
    return f"{f' (did you mean {similar[0]!r}?)' if similar else ''}; allowed are {', '.join(allowed)}"


def _fields(loc: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """Return the fields of the part at a path; an empty list if there is no part."""
    part: type[BaseModel] | None = model
    for step in loc:
        if isinstance(step, str) and part is not None:
            part = _model(part.model_fields[step].annotation)
    return list(part.model_fields) if part is not None else []


def _model(annotation: Any) -> type[BaseModel] | None:
    """Return the model in the type of a field; ``None`` if there is none."""
    while not isinstance(annotation, type) or get_args(annotation):
        if not get_args(annotation):
            return None
        annotation = get_args(annotation)[0]
    return annotation if issubclass(annotation, BaseModel) else None
