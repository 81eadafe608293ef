"""Testbeds: named values for a spec, each with its source; they and presets of links fill in unwritten values."""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from aqmlab._core import SpecError, testbeds
from aqmlab.spec.capacity import link_presets

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


def unwritten_values(parts: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the values of testbed and presets for keys that are not written, by part and for each of its tables.

    Parameters
    ----------
    parts
        The parts of a spec as written.
    """
    testbed = None if parts.get("testbed") is None else find(parts["testbed"])
    names = dict.fromkeys((*(() if testbed is None else testbed.tables), "link"))
    tables = {name: tables_of(parts.get(name, {})) for name in names}
    missing: dict[str, list[dict[str, Any]]] = {}
    for name, tables_of_part in tables.items():
        # A part that is not a table is refused with other mistakes.
        if not all(map(_is_table, tables_of_part)):
            continue
        is_list = isinstance(parts.get(name), (list, tuple))
        values: list[dict[str, Any]] = []
        for number, table in enumerate(tables_of_part):
            written = _set_values(table)
            of_preset = (
                link_presets.missing_values(written, f"link[{number}]" if is_list else name) if name == "link" else {}
            )
            written_keys = (*written, *of_preset)
            of_testbed = {} if testbed is None else missing_values(testbed, name, written_keys)
            values.append({**of_testbed, **of_preset})
        if any(values):
            missing[name] = values
    return missing


def filled(parts: Mapping[str, Any], missing: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the parts of a spec with the missing values of testbed and presets."""
    result = dict(parts)
    for name, values_of_tables in missing.items():
        part = parts.get(name, {})
        tables = [
            {**values, **_set_values(table)} for values, table in zip(values_of_tables, tables_of(part), strict=True)
        ]
        result[name] = tables if isinstance(part, (list, tuple)) else tables[0]
    return result


def tables_of(part: Any) -> Sequence[Any]:
    """Return the tables of a part: itself, or those of a list."""
    return part if isinstance(part, (list, tuple)) else (part,)


def _is_table(part: object) -> bool:
    return isinstance(part, Mapping) or _is_model(part)


def _is_model(part: object) -> bool:
    # A help text does not wait for the import of pydantic.
    return hasattr(part, "model_fields_set")


def _set_values(part: Any) -> dict[str, Any]:
    """Return the written keys of a part, which is a table or a model."""
    if _is_model(part):
        return {name: getattr(part, name) for name in part.model_fields_set}
    return dict(part) if isinstance(part, Mapping) else {}
