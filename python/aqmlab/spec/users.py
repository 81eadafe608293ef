"""Tables of what web users do and how far away their servers are: by name, in full, or in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from aqmlab._core import Resolved, SpecError
from aqmlab.spec import bounded, schema

Table = str | dict[str, Any]
"""A table that ships, by its name, or one of the user's own, in full."""

FIELDS = ("workload", "rtt")
"""Where tables stand in ``users``."""

USUAL_LOAD = 98.0
"""The load in percent where neither a load nor a number of users is given: that of Le et al. (2003) at its highest."""

_SUFFIXES = (".toml", ".json")


def read_files(users: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """Put what a file holds in the stead of its name, which ends in ``.toml`` or ``.json``.

    Parameters
    ----------
    users
        The part ``users`` of a spec.
    directory
        What the files' names are relative to.

    Raises
    ------
    SpecError
        When a file cannot be read or is not what its name says. What it must hold is the engine's to say.
    """
    return {
        field: _read(directory / value, f"users.{field}") if field in FIELDS and _is_file(value) else value
        for field, value in users.items()
    }


def names(workload: Table, rtt: Table) -> tuple[str, str]:
    """Return what the two are called in calibrations and tables: one of the user's own by its hash.

    Raises
    ------
    SpecError
        When a table of the user's own is none.
    """
    if isinstance(workload, str) and isinstance(rtt, str):
        return workload, rtt
    spec = {"queue": {"droptail": {}}, "users": {"per_side": 1, "workload": workload, "rtt": rtt}}
    users = _users(json.dumps(spec))
    return _name(workload, users["workload"]), _name(rtt, users["rtt"])


def add_keys(definitions: Mapping[str, Any], *, load: Mapping[str, Any]) -> None:
    """Put what Python alone reads into a schema's definitions: a load, and files."""
    users = definitions["Users"]
    del users["required"]
    users["properties"] = {"load": {**load["anyOf"][0], "description": load["description"]}, **users["properties"]}
    for field in FIELDS:
        forms = definitions[schema.name_of(users["properties"][field])]["anyOf"]
        forms.insert(1, {"type": "string", "pattern": r"\.(toml|json)$", "description": "A file that holds a table"})


@lru_cache(maxsize=16)
def _users(spec: str) -> Mapping[str, Any]:
    """Return the users of a resolved spec: they are asked for once for each cell, and their tables may be long."""
    users: Mapping[str, Any] = json.loads(Resolved(spec).json)["users"]
    return users


def _name(table: Table, resolved: Mapping[str, Any]) -> str:
    if isinstance(table, str):
        return table
    text = json.dumps(resolved, sort_keys=True)
    return f"own-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _is_file(value: object) -> bool:
    return isinstance(value, (str, Path)) and Path(value).suffix in _SUFFIXES


def _read(file: Path, place: str) -> dict[str, Any]:
    try:
        table = bounded.read(file)
    except SpecError as error:
        raise SpecError(f"{place}: {error}") from None
    if not isinstance(table, dict):
        raise SpecError(f"{place}: {file} must hold a table, got {type(table).__name__}")
    return table
