"""The engine's schema of a spec: types, defaults, ranges, units and texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from aqmlab._core import schemas

Schema = Mapping[str, Any]

ROOT = "Experiment"
"""The name of the whole spec among its parts."""


@cache
def root() -> Schema:
    """Return the engine's JSON Schema of a spec."""
    schema: Schema = json.loads(schemas())["spec"]
    return schema


def part(name: str) -> Schema:
    """Return the schema of a part by its name, such as ``Link``."""
    definition: Schema = root() if name == ROOT else root()["$defs"][name]
    return definition


def key(path: str) -> Schema:
    """Return the schema of the key at a path, such as ``protocol.warmup``."""
    node = root()
    for name in path.split("."):
        node = _table(node)["properties"][name]
    return node


def _table(node: Schema) -> Schema:
    """Return the table that a key refers to; of a key that may be a list too, the table of an entry."""
    table = part(name_of(node)) if "$ref" in node else node
    return table if "properties" in table else _table(table["anyOf"][0])


def source(kind: str) -> Schema:
    """Return the keys of a kind of source by their names."""
    (reference,) = (form["properties"][kind] for form in part("Source")["oneOf"] if kind in form["properties"])
    keys: Schema = part(name_of(reference))["properties"]
    return keys


def name_of(reference: Schema) -> str:
    """Return the name of the part that a reference points to."""
    return str(reference["$ref"]).rpartition("/")[2]


def default(path: str) -> str:
    """Return the default of the key at a path, as text."""
    return str(key(path)["default"])


def meaning(path: str) -> str:
    """Return the description of the key at a path."""
    return str(key(path)["description"])


def names(path: str) -> list[str]:
    """Return the accepted names for the key at a path."""
    forms = part(name_of(key(path)))["anyOf"]
    return [name for form in forms for name in form.get("enum", ())]
