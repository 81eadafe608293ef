"""The reference page of tables: each column as the engine declares it, with its unit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from aqmlab import _core
from aqmlab.cells import columns
from aqmlab.explanations import PARTS
from markdown import flowing, table
from reference.template import template

Schema = Mapping[str, Any]

STORED = ("summary", "queue", "link", "response_times", "exchanges", "losses", "flows")
"""The tables of a cell, each a Parquet file of that name."""

EXPLAINED = {
    "explanations": "requests",
    "explained_pages": "pages",
    "resources": "resources",
    "timelines": "timelines",
}
"""The tables of an explained run, and what they are of a ``lab.Explanation``."""

UNITS = {
    "s": "s",
    "ms": "ms",
    "ns": "ns",
    "bytes": "bytes",
    "cwnd": "bytes",
    "offset": "bytes",
    "percent": "%",
    "mbps": "Mbit/s",
    "users": "users",
    "utilisation": "of 1",
    "fraction": "of 1",
    **dict.fromkeys(("requests", "completed", "aborted", "count"), "requests"),
    **dict.fromkeys(
        (
            *("packets", "arrived", "offered", "sent", "lost", "dropped", "policed", "drops", "evicted", "held"),
            *("marked", "marks", "losses", "duplicated", "reordered", "changed"),
        ),
        "packets",
    ),
    **dict.fromkeys(("retransmits", "timeouts", "reductions"), "times"),
    "pages": "pages",
    "connections": "connections",
    "resources": "resources",
    "mb": "MB",
}
"""Units by the word in a column's name."""

_FIRST = ("row", "page", "time_s", "start_s", "start_ns", "time_ns", "link", "direction")
"""Columns that identify a row come first."""


class Column(NamedTuple):
    """A column as it is declared."""

    name: str
    """With those that it is a part of: ``response_time_ms.p50``, ``links[].sent``."""
    kind: str
    """``whole number``, ``number``, ``text``, ``true or false``, ``struct`` or ``list``."""
    unit: str
    """Empty where there is none."""
    meaning: str
    several: bool = False
    """One row for several columns that are named elsewhere: a law's variables, the parts of a response time."""


def declared(name: str) -> list[Column]:
    """Return the columns of a table."""
    root = json.loads(_core.schemas())[name]
    measured = list(_columns(root, root.get("$defs", {}), "", ""))
    return [*_identity(), *measured] if name == "summary" else measured


def tables() -> str:
    """Write the page."""
    parts = [_section(name, f"`{name}.parquet`, `Result.{name}`") for name in STORED]
    parts += [
        _section(name, f"`lab.explain(...).{attribute}`; it is not stored") for name, attribute in EXPLAINED.items()
    ]
    return template("tables").format(tables="\n".join(parts).rstrip("\n"))


def _identity() -> Iterator[Column]:
    """Yield the columns that say what a cell is, which the store adds."""
    for name, (kind, meaning) in columns.COLUMNS.items():
        shown = "text" if pa.types.is_string(kind) else "number" if pa.types.is_floating(kind) else "whole number"
        yield Column(name, shown, _unit(name), meaning)


def _section(name: str, where: str) -> str:
    about = flowing(json.loads(_core.schemas())[name]["description"])
    rows = [
        (f"*{each.name}*" if each.several else f"`{each.name}`", each.kind, each.unit, each.meaning)
        for each in declared(name)
    ]
    return f"## `{name}`\n\n{where}. {about}\n\n{table(('column', 'value', 'unit', 'meaning'), rows)}"


def _columns(part: Schema, defs: Mapping[str, Schema], prefix: str, unit: str) -> Iterator[Column]:
    """Yield the columns of a struct; those of a part of it have its unit unless they say another."""
    for key, value in sorted(part["properties"].items(), key=lambda pair: _place(pair[0])):
        is_list, item = _item(value, defs)
        name, meaning = f"{prefix}{key}", flowing(value.get("description", ""))
        own = _unit(key) or unit
        if "properties" in item:
            yield Column(name, "list" if is_list else "struct", "", meaning)
            yield from _columns(item, defs, f"{name}{'[]' if is_list else ''}.", own)
        elif "prefixItems" in item:
            names = f" They are {', '.join(f'`{each}`' for each in PARTS)}." if key == "parts" else ""
            yield Column(name, "number", "ns" if key == "parts" else "the law's", meaning + names, several=True)
        else:
            yield Column(name, _kind(item), own, meaning)


def _item(part: Schema, defs: Mapping[str, Schema]) -> tuple[bool, Schema]:
    """Say whether it is a list, and what an entry is: the engine's columns are lists, in the summary only some are."""
    is_list = part.get("type") == "array"
    if is_list:
        part = part["items"]
    for each in (part, *part.get("anyOf", ())):
        if "$ref" in each:
            return is_list, defs[each["$ref"].rpartition("/")[2]]
    return is_list, part


def _kind(part: Schema) -> str:
    kinds = part["type"]
    (name,) = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return {"integer": "whole number", "string": "text", "boolean": "true or false"}.get(name, name)


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _unit(name: str) -> str:
    # The last word that says something: a mean or a percentile of packets is in packets.
    return next((UNITS[word] for word in reversed(name.split("_")) if word in UNITS), "")
