"""The fields of forms, made from the spec's schema: what may be typed, what holds where nothing is, and its meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from aqmlab.spec import schema
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.schema import Schema

GROUPS = {
    "users": "Users",
    "link": "Link",
    "tcp": "TCP",
    "hosts": "Servers",
    "protocol": "Time",
    "record": "What is written down",
}
"""The tables of a spec whose keys are fields; those that hold more than one value are written as TOML."""


@dataclass(frozen=True)
class Field:
    """A key of a spec that holds one value."""

    path: str
    """Where it stands in a spec, such as ``users.load``."""
    about: str
    """What it means, its unit and its range."""
    default: str
    choices: tuple[str, ...]
    """What may be chosen; empty where it is typed."""
    mode: str
    """What kind of keyboard a telephone is to show."""


@cache
def groups() -> Mapping[str, tuple[Field, ...]]:
    """Return the fields of a spec by the titles of their groups."""
    whole = Experiment.model_json_schema()
    tables = {name: _part(whole, whole["properties"][name]) for name in GROUPS}
    return {title: tuple(_fields(whole, f"{name}.", tables[name])) for name, title in GROUPS.items()}


@cache
def paths() -> Mapping[str, Field]:
    """Return the fields of a spec by their paths."""
    return {field.path: field for group in groups().values() for field in group}


@cache
def parameters(discipline: str) -> tuple[Field, ...]:
    """Return a field for each parameter of a discipline, which are called ``parameter.NAME``."""
    whole = schema.written()
    return tuple(_fields(whole, "parameter.", whole["$defs"]["Queue"]["properties"][discipline]))


def _part(whole: Schema, key: Schema) -> Schema:
    part: Schema = whole["$defs"][schema.name_of(key)] if "$ref" in key else key
    return part


def _fields(whole: Schema, above: str, table: Schema) -> Iterator[Field]:
    for name, key in table["properties"].items():
        choices = tuple(_choices(whole, key))
        kinds = _kinds(key)
        if choices or kinds & {"string", "number", "integer"}:
            default = key.get("default", "")
            yield Field(
                path=above + name,
                about=" ".join([key["description"], *_bounds(key)]),
                default=str(default).lower() if isinstance(default, bool) else str(default),
                choices=choices,
                mode="numeric" if kinds == {"integer"} else "decimal" if kinds == {"number"} else "text",
            )


def _kinds(key: Schema) -> set[str]:
    kinds = key.get("type", ())
    return ({kinds} if isinstance(kinds, str) else set(kinds)) - {"null"}


def _choices(whole: Schema, key: Schema) -> Iterator[str]:
    part = _part(whole, key)
    if part.get("type") == "boolean":
        yield from ("true", "false")
    yield from part.get("enum", ())
    for form in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        yield from [form["const"]] if "const" in form else _choices(whole, form)


def _bounds(key: Schema) -> Iterator[str]:
    """Say in which unit it is written and how far it may go."""
    said: Mapping[str, Any] = {
        "from": key.get("minimum"),
        "above": key.get("exclusiveMinimum"),
        "up to": key.get("maximum"),
        "below": key.get("exclusiveMaximum"),
    }
    bounds = " ".join(f"{word} {_number(bound)}" for word, bound in said.items() if bound is not None)
    unit = key.get("unit") or key.get("quantity") or ""
    if told := ", ".join(filter(None, ["" if unit in ("1", "name", "true or false") else unit, bounds])):
        yield f"({told})"


def _number(bound: float | str) -> str:
    return bound if isinstance(bound, str) else f"{bound:,g}" if isinstance(bound, float) else f"{bound:,}"
