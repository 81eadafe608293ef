"""JSON Schema as far as that of specs goes: whether it admits a value."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_TYPES: dict[str, Any] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "null": type(None),
    "number": (int, float),
    "object": dict,
    "string": str,
}

_BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
}


def admits(schema: Mapping[str, Any], value: Any, root: Mapping[str, Any]) -> bool:
    """Say whether a value is what a part of a schema asks for."""

    def inner(part: Mapping[str, Any], value: Any) -> bool:
        return admits(part, value, root)

    if "$ref" in schema and not inner(root["$defs"][schema["$ref"].rpartition("/")[2]], value):
        return False
    if "anyOf" in schema and not any(inner(item, value) for item in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(inner(item, value) for item in schema["oneOf"]) != 1:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema:
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(_is(value, item) for item in types):
            return False
    if isinstance(value, dict):
        return _admits_table(schema, value, root)
    if isinstance(value, list):
        length = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return length and all(inner(schema.get("items", {}), item) for item in value)
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, (int, float)):
        return all(holds(value, schema[end]) for end, holds in _BOUNDS.items() if end in schema)
    return True


def _is(value: object, kind: str) -> bool:
    # In Python, though not in JSON, true is a whole number.
    return isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")


def _admits_table(schema: Mapping[str, Any], table: dict[str, Any], root: Mapping[str, Any]) -> bool:
    if any(key not in table for key in schema.get("required", ())):
        return False
    if not schema.get("minProperties", 0) <= len(table) <= schema.get("maxProperties", len(table)):
        return False
    for key, others in schema.get("dependentRequired", {}).items():
        if key in table and any(other not in table for other in others):
            return False
    for key, value in table.items():
        parts = [schema["properties"][key]] if key in schema.get("properties", {}) else []
        parts += [part for name, part in schema.get("patternProperties", {}).items() if re.search(name, key)]
        others = schema.get("additionalProperties", True)
        if not parts and isinstance(others, dict):
            parts = [others]
        if not parts and not others:
            return False
        if not all(admits(part, value, root) for part in parts):
            return False
    return True
