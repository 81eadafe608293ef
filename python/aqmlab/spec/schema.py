"""What may be written in a spec, as the engine declares it: types, defaults, ranges, units and texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from aqmlab._core import schemas

Schema = Mapping[str, Any]

WHOLE = "Experiment"
"""What the whole spec is called among its parts."""


@cache
def has() -> Schema:
    """Return the engine's JSON Schema of a spec."""
    schema: Schema = json.loads(schemas())["spec"]
    return schema


def part(name: str) -> Schema:
    """Return a part of it by its name, such as ``Link``."""
    found: Schema = has() if name == WHOLE else has()["$defs"][name]
    return found


def key(path: str) -> Schema:
    """Return what is said of the key at a path, such as ``protocol.warmup``."""
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
    """Return the name of the part that is referred to."""
    return str(reference["$ref"]).rpartition("/")[2]


def default(path: str) -> str:
    """Return the default of the key at a path, as text."""
    return str(key(path)["default"])


def meaning(path: str) -> str:
    """Return what the key at a path means."""
    return str(key(path)["description"])


def names(path: str) -> list[str]:
    """Return the names that may be written for the key at a path."""
    forms = part(name_of(key(path)))["anyOf"]
    return [name for form in forms for name in form.get("enum", ())]
