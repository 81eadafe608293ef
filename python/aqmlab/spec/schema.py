"""The engine's schema of a spec: types, defaults, ranges, units and texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from aqmlab._core import schemas

Schema = Mapping[str, Any]

WHOLE = "Experiment"
"""The name of the whole spec among its parts."""


@cache
def has() -> Schema:
    """Return the engine's JSON Schema of a spec."""
    schema: Schema = json.loads(schemas())["spec"]
    return schema


def part(name: str) -> Schema:
    """Return the schema of a part by its name, such as ``Link``."""
    found: Schema = has() if name == WHOLE else has()["$defs"][name]
    return found


def key(path: str) -> Schema:
    """Return the schema of the key at a path, such as ``protocol.warmup``."""
    at = has()
    for name in path.split("."):
        table = part(name_of(at)) if "$ref" in at else at
        at = table["properties"][name]
    return at


def source(kind: str) -> Schema:
    """Return the keys of a kind of source by their names."""
    (of,) = (form["properties"][kind] for form in part("Source")["oneOf"] if kind in form["properties"])
    keys: Schema = part(name_of(of))["properties"]
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
