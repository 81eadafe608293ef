"""Differences between specs, and the check that nothing is made of unlike experiments together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aqmlab._core import SpecError
from aqmlab.running.cell import Cell
from aqmlab.running.identity import columns
from aqmlab.spec import users

_MOST_SAID = 3
"""Differences that are named one by one; of more there is the number."""

_ABSENT = "not set"


def differences(specs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return what specs differ in: the value of each at every path where two differ, ``None`` where it has none.

    Parameters
    ----------
    specs
        Resolved specs as tables, or abridged ones.
    """
    flat = [dict(paths(_with_names(spec))) for spec in specs]
    every = dict.fromkeys(path for each in flat for path in each)
    valued = {path: [each.get(path) for each in flat] for path in every}
    return {path: values for path, values in valued.items() if any(value != values[0] for value in values)}


def paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each path of a spec with what stands there: a number, a text, true or false, or a list of such."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from paths(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        for number, each in enumerate(value):
            yield from paths(each, f"{path}[{number}]")
    else:
        yield path, value


def said(different: Mapping[str, Sequence[Any]]) -> str:
    """Say what specs differ in, such as ``link.rate: 20 Mbit/s and 10 Mbit/s``."""
    parts = []
    for path, values in list(different.items())[:_MOST_SAID]:
        texts = list(dict.fromkeys(_text(value) for value in values))
        parts.append(f"{path}: {', '.join(texts[:-1])} and {texts[-1]}")
    more = len(different) - _MOST_SAID
    return "; ".join([*parts, *([f"and {more} more"] if more > 0 else [])])


def check_one_experiment(cells: Iterable[Cell]) -> None:
    """Refuse to put cells of several experiments together.

    Cells of one label are seeds of one spec. Cells of several labels are of one experiment; those on the uncongested
    network have the same users, sources, hosts and times as others.

    Raises
    ------
    SpecError
        When they are of several, naming the difference.
    """
    first_of: dict[str, Cell] = {}
    for cell in cells:
        first = first_of.setdefault(cell.label, cell)
        if _made_of(cell) != _made_of(first):
            raise SpecError(f"results: {cell.label} is several experiments, {_said_of_cells(first, cell)}")
    free = [cell for cell in first_of.values() if cell.signal == "none"]
    others = [cell for cell in first_of.values() if cell.signal != "none"]
    for cell in others[1:]:
        if cell.experiment != others[0].experiment:
            raise SpecError(
                f"results: cells of several experiments are not put together, {_said_of_cells(others[0], cell)}"
            )
    for cell in free:
        if others and all(cell.experiment != each.experiment and not _has_users_of(cell, each) for each in others):
            raise SpecError(f"results: {cell.label} has other users, {_said_of_cells(others[0], cell, links=False)}")


def without_scheme(spec: Mapping[str, Any], *, links: bool = True) -> str:
    """Return a spec without what a scheme decides, as JSON.

    Parameters
    ----------
    spec
        A resolved spec as tables, or an abridged one.
    links
        Whether its links stay: the uncongested network has others.
    """
    return json.dumps(_without_scheme(spec, links=links), sort_keys=True)


def _without_scheme(spec: Mapping[str, Any], *, links: bool) -> dict[str, Any]:
    left_out = {"queue", "queue_back", *(() if links else ("link", "chain"))}
    kept = {name: value for name, value in spec.items() if name not in left_out}
    tcp = dict(spec["tcp"])
    tcp["mix"] = [{name: value for name, value in each.items() if name != "ecn"} for each in tcp.get("mix", ())]
    tcp.pop("ecn", None)
    return {**kept, "tcp": tcp}


def _has_users_of(free: Cell, cell: Cell) -> bool:
    return without_scheme(free.resolved, links=False) == without_scheme(cell.resolved, links=False)


def _made_of(cell: Cell) -> tuple[str, str | None, Any]:
    return cell.spec.json, cell.kernel, cell.programs


def _said_of_cells(one: Cell, other: Cell, *, links: bool = True) -> str:
    specs = [_without_scheme(cell.resolved, links=links) for cell in (one, other)]
    different = differences(specs) or differences([one.resolved, other.resolved])
    beside = {"kernel": (one.kernel, other.kernel), "command": (one.programs, other.programs)}
    return said(different | {name: pair for name, pair in beside.items() if pair[0] != pair[1]})


def _with_names(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Put the names of tables of users in their places: they tell them apart in fewer words."""
    of_users = dict(spec["users"])
    for field in users.FIELDS:
        if isinstance(of_users[field], Mapping):
            of_users[field] = users.name_of(field, of_users[field])
    return {**columns.abridged(spec), "users": of_users}


def _text(value: Any) -> str:
    if value is None:
        return _ABSENT
    return value if isinstance(value, str) else json.dumps(value)
