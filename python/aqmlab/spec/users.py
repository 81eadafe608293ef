"""The tables of web users' behaviour and round-trip times: by name, as a table, or from a file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from aqmlab._core import Resolved, SpecError
from aqmlab.spec import bounded_input, schema
from aqmlab.spec.households import data as households

Table = str | dict[str, Any]
"""The name of a shipped table, or a custom table."""

FIELDS = ("workload", "rtt")
"""The keys of ``users`` that are tables."""

_SUFFIXES = (".toml", ".json")

_MAX_NAME_LENGTH = 24
"""The largest number of characters of a custom table's own name in :func:`name_of`."""


def read_files(users: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """Replace the names of files, which end in ``.toml`` or ``.json``, by their content.

    Parameters
    ----------
    users
        The part ``users`` of a spec.
    directory
        The directory that relative file names refer to.

    Raises
    ------
    SpecError
        When a file cannot be read or is not in its format. The engine checks the content.
    """
    return {
        field: _read(directory / value, f"users.{field}") if field in FIELDS and _is_file(value) else value
        for field, value in users.items()
    }


def names(workload: Table, rtt: Table) -> tuple[str, str]:
    """Return the names of both tables in calibrations and output; see :func:`name_of`.

    Raises
    ------
    SpecError
        When a custom table is invalid.
    """
    if isinstance(workload, str) and isinstance(rtt, str):
        return workload, rtt
    spec = {"queue": {"droptail": {}}, "users": {"per_side": 1, "workload": workload, "rtt": rtt}}
    users = _users(json.dumps(spec))
    workload_name, rtt_name = (
        table if isinstance(table, str) else name_of(field, users[field])
        for field, table in zip(FIELDS, (workload, rtt), strict=True)
    )
    return workload_name, rtt_name


def load_pages_of_today(workload: Table) -> bool:
    """Return true for a workload whose users load pages with origins and protocols of their own, as households do.

    Raises
    ------
    SpecError
        When a custom table is invalid.
    """
    if workload in households.NAMES:
        return True
    spec = {"queue": {"droptail": {}}, "users": {"per_side": 1, "workload": workload}}
    table = _users(json.dumps(spec))["workload"]
    resolved = json.loads(packaged_tables("workload")[table]) if isinstance(table, str) else table
    return "origins_per_page" in resolved


def add_keys(definitions: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
    """Add the keys and values that only Python reads, a load, an hour, households and files, to a schema's definitions.

    Parameters
    ----------
    definitions
        The definitions of the schema.
    properties
        The keys of users in Python.
    """
    users = definitions["Users"]
    del users["required"]
    load, hour = (
        {**properties[key]["anyOf"][0], "description": properties[key]["description"]} for key in ("load", "hour")
    )
    users["properties"] = {"load": load, **users["properties"], "hour": hour}
    workloads = definitions[schema.name_of(users["properties"]["workload"])]["anyOf"]
    workloads[0]["enum"] = [*workloads[0]["enum"], *households.NAMES]
    for field in FIELDS:
        forms = definitions[schema.name_of(users["properties"][field])]["anyOf"]
        forms.insert(1, {"type": "string", "pattern": r"\.(toml|json)$", "description": "A file that holds a table"})


@lru_cache(maxsize=16)
def _users(spec: str) -> Mapping[str, Any]:
    """Return the users of a resolved spec; cached, because every cell needs them and their tables may be long."""
    users: Mapping[str, Any] = json.loads(Resolved(spec).json)["users"]
    return users


@cache
def packaged_tables(field: str) -> Mapping[str, str]:
    """Return the shipped tables of a field as canonical JSON, by name."""
    tables = {}
    for name in schema.names(f"users.{field}"):
        spec = {"queue": {"droptail": {}}, "users": {"per_side": 1, field: name}}
        tables[name] = _canonical(_users(json.dumps(spec))[field])
    return tables


def name_of(field: str, table: Mapping[str, Any]) -> str:
    """Return the name of a resolved table; that of a custom table consists of its own name and a digest.

    Parameters
    ----------
    field
        ``workload`` or ``rtt``.
    table
        The table with every default filled in.

    Examples
    --------
    >>> name_of("rtt", {"source": "Our lab, 2026", "distribution": {"uniform_ms": {"min": 5, "max": 9}}})
    'our-lab-2026-1fca5f39'
    """
    text = _canonical(table)
    for name, packaged in packaged_tables(field).items():
        if text == packaged:
            return name
    title = str(table.get("name" if field == "workload" else "source", ""))
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower())[:_MAX_NAME_LENGTH].strip("-")
    return f"{slug or 'own'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _canonical(table: Mapping[str, Any]) -> str:
    return json.dumps(table, sort_keys=True)


def _is_file(value: object) -> bool:
    return isinstance(value, (str, Path)) and Path(value).suffix in _SUFFIXES


def _read(file: Path, path: str) -> dict[str, Any]:
    try:
        table = bounded_input.read(file)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None
    if not isinstance(table, dict):
        raise SpecError(f"{path}: {file} must hold a table, got {type(table).__name__}")
    return table
