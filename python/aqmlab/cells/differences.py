"""Differences between specs, and the check that cells of different experiments are never combined."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aqmlab._core import SpecError
from aqmlab.cells import columns
from aqmlab.cells.cell import Cell
from aqmlab.spec import users

_MOST_SAID = 3
"""The largest number of differences that are listed; of the others only the number is shown."""

_ABSENT = "not set"


def differences(specs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the paths at which specs differ, with the value of each spec, ``None`` where it has no value.

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
    """Yield each path of a spec with its value: a number, a text, a boolean, or a list of these."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from paths(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        for number, each in enumerate(value):
            yield from paths(each, f"{path}[{number}]")
    else:
        yield path, value


def differences_text(different: Mapping[str, Sequence[Any]]) -> str:
    """Write differences as text, such as ``link.rate: 20 Mbit/s and 10 Mbit/s``."""
    parts = []
    for path, values in list(different.items())[:_MOST_SAID]:
        texts = list(dict.fromkeys(value_text(value) for value in values))
        parts.append(f"{path}: {', '.join(texts[:-1])} and {texts[-1]}")
    more = len(different) - _MOST_SAID
    return "; ".join([*parts, *([f"and {more} more"] if more > 0 else [])])


def check_one_spec(cells: Iterable[Cell]) -> None:
    """Refuse to combine cells that differ in more than their seeds.

    Raises
    ------
    SpecError
        When cells differ in more than their seeds, naming the difference.
    """
    every = list(cells)
    for cell in every[1:]:
        if _parts(cell) != _parts(every[0]):
            raise SpecError(_refusal("seeds of one spec can be combined", every[0], cell))


def check_one_experiment(cells: Iterable[Cell]) -> None:
    """Refuse to combine or compare cells of different experiments.

    Cells with the same label must be seeds of one spec. Cells with different labels may differ only in the scheme or
    the variant. Cells on the uncongested network must have the same users, sources, hosts and times.

    Raises
    ------
    SpecError
        When the cells belong to different experiments, naming the difference.
    """
    by_label: dict[str, list[Cell]] = {}
    for cell in cells:
        by_label.setdefault(cell.label, []).append(cell)
    for same in by_label.values():
        check_one_spec(same)
    firsts = [same[0] for same in by_label.values()]
    free = [cell for cell in firsts if cell.signal == "none"]
    others = [cell for cell in firsts if cell.signal != "none"]
    for cell in others[1:]:
        if cell.experiment != others[0].experiment and not _differ_in_scheme(cell, others[0]):
            raise SpecError(_refusal("cells of one experiment can be compared", others[0], cell))
    for cell in free if others else ():
        if not any(cell.experiment == each.experiment or _differ_in_links(cell, each) for each in others):
            raise SpecError(_refusal("cells of one experiment can be compared", others[0], cell, links=False))


def without_scheme(spec: Mapping[str, Any], *, links: bool = True) -> str:
    """Return a spec without the values that a scheme sets, as JSON.

    Parameters
    ----------
    spec
        A resolved spec as tables, or an abridged one.
    links
        Keep the links; the uncongested network has others.
    """
    return json.dumps(_without_scheme(spec, links=links), sort_keys=True)


def _without_scheme(spec: Mapping[str, Any], *, links: bool) -> dict[str, Any]:
    left_out = {"queue", "queue_back", "sides", *(() if links else ("link", "chain"))}
    kept = {name: value for name, value in spec.items() if name not in left_out}
    tcp = dict(spec["tcp"])
    tcp["mix"] = [{name: value for name, value in each.items() if name != "ecn"} for each in tcp.get("mix", ())]
    tcp.pop("ecn", None)
    return {**kept, "tcp": tcp}


def _differ_in_scheme(one: Cell, other: Cell) -> bool:
    """Return true if two cells differ only in the scheme, though their experiment digests differ by a variant."""
    return without_scheme(one.resolved) == without_scheme(other.resolved)


def _differ_in_links(one: Cell, other: Cell) -> bool:
    return without_scheme(one.resolved, links=False) == without_scheme(other.resolved, links=False)


def _parts(cell: Cell) -> tuple[str, str | None, Any]:
    return cell.spec.json, cell.kernel, cell.programs


def _refusal(what: str, one: Cell, other: Cell, *, links: bool = True) -> str:
    specs = [_without_scheme(cell.resolved, links=links) for cell in (one, other)]
    different = differences(specs) or differences([one.resolved, other.resolved])
    beside = {"kernel": (one.kernel, other.kernel), "command": (one.programs, other.programs)}
    different |= {name: list(pair) for name, pair in beside.items() if pair[0] != pair[1]}
    which = f"cells of {one.label}" if one.label == other.label else f"those of {one.label} and {other.label}"
    return f"results: only {what}; {which} differ in {differences_text(different)}"


def _with_names(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the tables of users by their shorter names."""
    of_users = dict(spec["users"])
    for field in users.FIELDS:
        if isinstance(of_users[field], Mapping):
            of_users[field] = users.name_of(field, of_users[field])
    return {**columns.abridged(spec), "users": of_users}


def value_text(value: Any) -> str:
    """Write a value of a spec as text."""
    if value is None:
        return _ABSENT
    return value if isinstance(value, str) else json.dumps(value)
