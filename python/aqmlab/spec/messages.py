"""Mistakes in a spec's shape, told in one line: the first field that is wrong, what is allowed, what was given."""

from __future__ import annotations

import difflib
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from aqmlab.spec.schema import WHOLE


def one_line(error: ValidationError, of: type[BaseModel]) -> str:
    """Name the first field that is wrong, what is allowed there, and what was given."""
    first = error.errors(include_url=False)[0]
    steps = first["loc"] if of.__name__ == WHOLE else (of.__name__, *first["loc"])
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
    if first["type"] == "extra_forbidden":
        return f"{path}: unknown key{_instead(str(steps[-1]), first['loc'], of)}"
    if first["type"] in ("model_type", "model_attributes_type"):
        return f"{path}: must be a table of {', '.join(_fields(first['loc'], of))}, got {first['input']!r}"
    what = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{path}: {what}, got {first['input']!r}"


def _instead(name: str, loc: tuple[int | str, ...], of: type[BaseModel]) -> str:
    """Say what may stand in the place of an unknown key."""
    allowed = _fields(loc[:-1], of)
    elsewhere = [f"{part}.{name}" for part in of.model_fields if name in _fields((part,), of)]
    near = difflib.get_close_matches(name, allowed, n=1) or elsewhere[:1]
    return f"{f' (did you mean {near[0]!r}?)' if near else ''}; allowed are {', '.join(allowed)}"


def _fields(loc: tuple[int | str, ...], of: type[BaseModel]) -> list[str]:
    """Name the fields of the part at a path; none where there is no part."""
    part: type[BaseModel] | None = of
    for step in loc:
        if isinstance(step, str) and part is not None:
            part = _model(part.model_fields[step].annotation)
    return list(part.model_fields) if part is not None else []


def _model(annotation: Any) -> type[BaseModel] | None:
    """Find the model of a field that holds one, several or none."""
    while not isinstance(annotation, type) or get_args(annotation):
        if not get_args(annotation):
            return None
        annotation = get_args(annotation)[0]
    return annotation if issubclass(annotation, BaseModel) else None
