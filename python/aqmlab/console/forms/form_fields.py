"""The fields of forms, derived from the spec's schema: accepted values, defaults and meanings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from aqmlab.spec import schema, testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.schema import Schema
from aqmlab.spec.sources import FILES

GROUPS = {
    "users": "Users",
    "link": "Link",
    "tcp": "TCP",
    "hosts": "Servers",
    "protocol": "Time",
    "record": "Recorded tables",
}
"""The tables of a spec whose keys become fields, with their titles."""

LISTS = {
    "link.rate_changes": "Changes of the link's rate",
    "link": "Links in series",
    "tcp.mix": "Hosts with another stack",
    "sources": "Traffic besides the users",
}
"""The lists of tables in a spec, with their titles; each table becomes a row of fields."""


@dataclass(frozen=True)
class Field:
    """A form field for a key of a spec."""

    path: str
    """The path in a spec, such as ``users.load``."""
    label: str
    hint: str
    """The meaning, unit and range."""
    default: str = ""
    choices: tuple[str, ...] = ()
    """The choices; empty for a text field."""
    mode: str = "text"
    """The ``inputmode`` attribute, which selects the keyboard of a phone."""
    is_toml: bool = False
    """True if the value is a table or a list in TOML."""


@dataclass(frozen=True)
class FieldList:
    """A list of tables in a spec."""

    path: str
    title: str
    hint: str
    kinds: Mapping[str, str]
    """The kinds of rows with their descriptions; one without a name if there is only one kind."""


AXES = FieldList("axes", "Axes", "The axes of the grid; all combinations of their values are run.", {"": "Axis"})
"""The axes of a grid."""


@cache
def groups() -> Mapping[str, tuple[Field, ...]]:
    """Return the fields of a spec by the titles of their groups."""
    spec_schema = Experiment.model_json_schema()
    tables = {name: _part(spec_schema, spec_schema["properties"][name]) for name in GROUPS}
    # A single link has the queue of the spec.
    own = {name: key for name, key in tables["link"]["properties"].items() if name not in ("queue", "queue_back")}
    tables["link"] = {**tables["link"], "properties": own}
    fields_by_group = {title: tuple(_fields(spec_schema, f"{name}.", tables[name])) for name, title in GROUPS.items()}
    return {"Testbed": (_testbed(spec_schema),), **fields_by_group}


@cache
def paths() -> Mapping[str, Field]:
    """Return the fields of a spec by their paths."""
    return {field.path: field for group in groups().values() for field in group}


@cache
def lists() -> Mapping[str, FieldList]:
    """Return the lists by their paths, with the axes. Sources that are read from files have no rows."""
    spec_schema = Experiment.model_json_schema()
    lists_by_path = {AXES.path: AXES}
    for path, title in LISTS.items():
        key = _key(spec_schema, path)
        forms = _part(spec_schema, _entry(spec_schema, key)).get("oneOf", ())
        kinds = {kind: form["description"] for form in forms for kind in form["properties"] if kind not in FILES}
        lists_by_path[path] = FieldList(path, title, _without_files(key["description"]), kinds or {"": title})
    return lists_by_path


@cache
def row(path: str, number: int, kind: str) -> tuple[Field, ...]:
    """Return the fields of a table in a list, or of an axis."""
    if path == AXES.path:
        hint = "Values separated by commas, or a range in TOML, such as {from = 5, to = 80, steps = 3}."
        return (
            Field(f"axes[{number}].path", "path", "A path of the spec, such as users.load."),
            Field(f"axes[{number}].values", "values", hint, is_toml=True),
        )
    spec_schema = Experiment.model_json_schema()
    table = _part(spec_schema, _entry(spec_schema, _key(spec_schema, path)))
    if not kind:
        return tuple(_fields(spec_schema, f"{path}[{number}].", table))
    (form,) = (form["properties"][kind] for form in table["oneOf"] if kind in form["properties"])
    return tuple(_fields(spec_schema, f"{path}[{number}].{kind}.", _part(spec_schema, form)))


@cache
def parameters(discipline: str) -> tuple[Field, ...]:
    """Return a field with the path ``parameter.NAME`` for each parameter of a discipline."""
    spec_schema = schema.root()
    return tuple(_fields(spec_schema, "parameter.", spec_schema["$defs"]["Queue"]["properties"][discipline]))


NO_TESTBED = "none"
"""The choice of no testbed: omitted values have the ordinary defaults."""


def _testbed(spec_schema: Schema) -> Field:
    """Return the field of the testbed. Without a spec the default is a testbed, not none."""
    (field,) = _fields(spec_schema, "", {"properties": {"testbed": spec_schema["properties"]["testbed"]}})
    default = f"the spec's, without a spec {testbeds.PAPERS}"
    described = (f"`{testbed.name}`: {testbed.about}." for testbed in testbeds.load_all().values())
    hint = " ".join(["The values of what a spec leaves out.", *described, f"`{NO_TESTBED}`: links and hosts of today."])
    return replace(field, default=default, hint=hint, choices=(*field.choices, NO_TESTBED))


def _without_files(text: str) -> str:
    """Return a description for people without the source, to whom the path of a guide says nothing."""
    return re.sub(r"docs/guide/([\w-]+)\.md", lambda guide: f"the guide on {guide[1].replace('-', ' ')}", text)


def _key(spec_schema: Schema, path: str) -> Schema:
    node = spec_schema
    for name in path.split("."):
        node = _part(spec_schema, node)["properties"][name]
    return node


def _part(spec_schema: Schema, key: Schema) -> Schema:
    """Return the schema of a key's value, with references resolved."""
    if "$ref" in key:
        return _part(spec_schema, spec_schema["$defs"][schema.name_of(key)])
    forms = [form for form in key.get("anyOf", ()) if form != {"type": "null"} and "items" not in form]
    return _part(spec_schema, forms[0]) if len(forms) == 1 else key


def _entry(spec_schema: Schema, key: Schema) -> Schema:
    """Return the schema of an entry of a list, which may be one of the forms of a value."""
    definition = spec_schema["$defs"][schema.name_of(key)] if "$ref" in key else key
    (items,) = (form["items"] for form in (definition, *definition.get("anyOf", ())) if "items" in form)
    return items  # type: ignore[no-any-return]


def _fields(spec_schema: Schema, path_prefix: str, table: Schema, label_prefix: str = "") -> Iterator[Field]:
    for name, key in table["properties"].items():
        path, label, part = path_prefix + name, label_prefix + name, _part(spec_schema, key)
        choices, kinds = tuple(_choices(spec_schema, key)), _kinds(key)
        hint = " ".join([_without_files(key["description"]), *_bounds(key)])
        default = key.get("default", "")
        if path in LISTS:
            continue
        if choices or kinds & {"string", "number", "integer"}:
            yield Field(
                path,
                label,
                hint,
                default=str(default).lower() if isinstance(default, bool) else str(default),
                choices=choices,
                mode="numeric" if kinds == {"integer"} else "decimal" if kinds == {"number"} else "text",
            )
        elif "properties" in part and not _is_choice(part):
            yield from _fields(spec_schema, f"{path}.", part, f"{label}.")
        else:
            forms = [form for form in part.get("oneOf", ()) if "properties" in form]
            others = ", ".join(name for form in forms[1:] for name in form["properties"])
            hint = f"{hint} In TOML, such as {_example(spec_schema, key)}" + (f"; or {others}." if others else ".")
            yield Field(path, label, hint, is_toml=True)


def _is_choice(table: Schema) -> bool:
    """Return true if a table has exactly one of its keys."""
    return table.get("maxProperties") == 1


def _example(spec_schema: Schema, key: Schema) -> str:
    """Return the shortest example of a value as TOML."""
    part = _part(spec_schema, key)
    if "oneOf" in part:
        part = part["oneOf"][0]
    if "properties" in part:
        names = list(part["properties"])[:1] if _is_choice(part) else part.get("required", [])
        content = ", ".join(f"{name} = {_example(spec_schema, part['properties'][name])}" for name in names)
        return f"{{{content}}}"
    if part.get("type") == "array":
        return f"[{', '.join([_example(spec_schema, part['items'])] * part.get('minItems', 2))}]"
    return f'"1 {part["units"][0]}"' if "units" in part else "1"


def _kinds(key: Schema) -> set[str]:
    kinds = key.get("type", ())
    return ({kinds} if isinstance(kinds, str) else set(kinds)) - {"null"}


def _choices(spec_schema: Schema, key: Schema) -> Iterator[str]:
    part = _part(spec_schema, key)
    if part.get("type") == "boolean":
        yield from ("true", "false")
    yield from part.get("enum", ())
    for form in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        yield from [form["const"]] if "const" in form else _choices(spec_schema, form)


def _bounds(key: Schema) -> Iterator[str]:
    """Yield the unit and the bounds of a value in parentheses."""
    limits: Mapping[str, Any] = {
        "from": key.get("minimum"),
        "above": key.get("exclusiveMinimum"),
        "up to": key.get("maximum"),
        "below": key.get("exclusiveMaximum"),
    }
    bounds = " ".join(f"{relation} {_number(bound)}" for relation, bound in limits.items() if bound is not None)
    unit = key.get("unit") or key.get("quantity") or ""
    if text := ", ".join(filter(None, ["" if unit in ("1", "name", "true or false") else unit, bounds])):
        yield f"({text})"


def _number(bound: float | str) -> str:
    return bound if isinstance(bound, str) else f"{bound:,g}" if isinstance(bound, float) else f"{bound:,}"
