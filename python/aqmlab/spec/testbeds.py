"""Testbeds: named tables of values, each with its source, that a spec can start from."""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from aqmlab._core import SpecError, testbeds

PAPERS = "unc-2003"
"""The testbed of what runs without a spec: that of Le, Aikat, Jeffay and Smith (SIGCOMM 2003)."""


def papers_testbed(path: str) -> Any:
    """Return what :data:`PAPERS` has at a path, such as ``protocol.warmup``."""
    table, _, key = path.partition(".")
    return named(PAPERS).tables[table][key]


_INSTEAD_OF_LOAD = "per_side"
"""A number of users, beside which no load can stand."""


@dataclass(frozen=True)
class Testbed:
    """A testbed, as the engine declares it."""

    name: str
    about: str
    """What it is, in one sentence."""
    tables: Mapping[str, Mapping[str, Any]]
    """Its values by the tables of a spec that they stand in."""
    sources: Mapping[str, str]
    """Where each value is from, by its path."""

    def __str__(self) -> str:
        return f"{self.name}: {self.about}"


def named(name: object) -> Testbed:
    """Return a testbed by its name.

    Raises
    ------
    SpecError
        When there is none of this name.
    """
    if isinstance(name, str) and name in declared():
        return declared()[name]
    near = difflib.get_close_matches(str(name), declared(), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise SpecError(f"testbed: must be one of {', '.join(declared())}{hint}, got {name!r}")


@cache
def declared() -> Mapping[str, Testbed]:
    """Return the testbeds by their names."""
    found: dict[str, Testbed] = {}
    for entry in json.loads(testbeds()):
        tables: dict[str, dict[str, Any]] = {}
        for value in entry["values"]:
            table, _, key = value["path"].partition(".")
            tables.setdefault(table, {})[key] = value["value"]
        sources = {value["path"]: value["source"] for value in entry["values"]}
        found[entry["name"]] = Testbed(entry["name"], entry["about"], tables, sources)
    return found


def missing(testbed: Testbed, written: Mapping[str, Iterable[str]]) -> dict[str, dict[str, Any]]:
    """Return the values of a testbed that a spec does not write, by their tables.

    Parameters
    ----------
    testbed
        Where they are from.
    written
        The keys that the spec writes, by the tables that they stand in.
    """
    return {
        table: {key: copy.deepcopy(value) for key, value in values.items() if not _is_written(key, written.get(table))}
        for table, values in testbed.tables.items()
    }


def _is_written(key: str, keys: Iterable[str] | None) -> bool:
    known = set(keys or ())
    return key in known or (key == "load" and _INSTEAD_OF_LOAD in known)
