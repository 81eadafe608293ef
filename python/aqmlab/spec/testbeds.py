"""Testbeds: named presets of values for a spec, each value with its source."""

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
"""The testbed of commands without a spec: that of Le, Aikat, Jeffay and Smith (SIGCOMM 2003)."""


def papers_testbed(path: str) -> Any:
    """Return the value of :data:`PAPERS` at a path, such as ``protocol.warmup``."""
    table, _, key = path.partition(".")
    return find(PAPERS).tables[table][key]


_INSTEAD_OF_LOAD = "per_side"
"""The key that excludes a load: the number of users."""


@dataclass(frozen=True)
class Testbed:
    """A testbed that the engine declares."""

    name: str
    about: str
    """The description in one sentence."""
    tables: Mapping[str, Mapping[str, Any]]
    """The values by tables of a spec."""
    sources: Mapping[str, str]
    """The source of each value, by its path."""

    def __str__(self) -> str:
        return f"{self.name}: {self.about}"


def find(name: object) -> Testbed:
    """Return the testbed of this name.

    Raises
    ------
    SpecError
        When there is no such testbed.
    """
    if isinstance(name, str) and name in load_all():
        return load_all()[name]
    similar = difflib.get_close_matches(str(name), load_all(), n=1)
    hint = f" (did you mean {similar[0]!r}?)" if similar else ""
    raise SpecError(f"testbed: must be one of {', '.join(load_all())}{hint}, got {name!r}")


@cache
def load_all() -> Mapping[str, Testbed]:
    """Return all testbeds by their names."""
    testbeds_by_name: dict[str, Testbed] = {}
    for entry in json.loads(testbeds()):
        tables: dict[str, dict[str, Any]] = {}
        for value in entry["values"]:
            table, _, key = value["path"].partition(".")
            tables.setdefault(table, {})[key] = value["value"]
        sources = {value["path"]: value["source"] for value in entry["values"]}
        testbeds_by_name[entry["name"]] = Testbed(entry["name"], entry["about"], tables, sources)
    return testbeds_by_name


def missing_values(testbed: Testbed, table: str, set_keys: Iterable[str]) -> dict[str, Any]:
    """Return the values of a testbed that a table of a spec does not write.

    Parameters
    ----------
    testbed
        The testbed.
    table
        The name of the table.
    set_keys
        The keys that the table writes.
    """
    keys = set(set_keys)
    return {key: copy.deepcopy(value) for key, value in testbed.tables[table].items() if not _is_set(key, keys)}


def _is_set(key: str, set_keys: set[str]) -> bool:
    return key in set_keys or (key == "load" and _INSTEAD_OF_LOAD in set_keys)
