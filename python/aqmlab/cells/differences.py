"""Differences between specs, and the check that cells of different experiments are never combined."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aqmlab._core import SpecError
from aqmlab.cells import columns
from aqmlab.cells.cell import Cell
from aqmlab.spec import users

_MAX_LISTED = 3
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
    all_paths = dict.fromkeys(path for values in flat for path in values)
    values_by_path = {path: [values.get(path) for values in flat] for path in all_paths}
    return {path: values for path, values in values_by_path.items() if any(value != values[0] for value in values)}


def paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each path of a spec with its value: a number, a text, a boolean, or a list of these."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from paths(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value):
            yield from paths(item, f"{path}[{number}]")
    else:
        yield path, value


def differences_text(differences: Mapping[str, Sequence[Any]]) -> str:
    """Write differences as text, such as ``link.rate: 20 Mbit/s and 10 Mbit/s``."""
    parts = []
    for path, values in list(differences.items())[:_MAX_LISTED]:
        texts = list(dict.fromkeys(value_text(value) for value in values))
        parts.append(f"{path}: {', '.join(texts[:-1])} and {texts[-1]}")
    rest = len(differences) - _MAX_LISTED
    return "; ".join([*parts, *([f"and {rest} more"] if rest > 0 else [])])


def check_one_spec(cells: Iterable[Cell]) -> None:
    """Refuse to combine cells that differ in more than their seeds.

    Raises
    ------
    SpecError
        When cells differ in more than their seeds, naming the difference.
    """
    all_cells = list(cells)
    for cell in all_cells[1:]:
        if _identity(cell) != _identity(all_cells[0]):
            raise SpecError(_refusal("seeds of one spec can be combined", all_cells[0], cell))


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
    for same_label in by_label.values():
        check_one_spec(same_label)
    first_cells = [same_label[0] for same_label in by_label.values()]
    uncongested = [cell for cell in first_cells if cell.signal == "none"]
    others = [cell for cell in first_cells if cell.signal != "none"]
    for cell in others[1:]:
        if cell.experiment != others[0].experiment and not _differ_in_scheme(cell, others[0]):
            raise SpecError(_refusal("cells of one experiment can be compared", others[0], cell))
    for cell in uncongested if others else ():
        if not any(cell.experiment == other.experiment or _differ_in_links(cell, other) for other in others):
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
    excluded = {"queue", "queue_back", "sides", *(() if links else ("link",))}
    rest = {name: value for name, value in spec.items() if name not in excluded}
    tcp = dict(spec["tcp"])
    tcp["mix"] = [{name: value for name, value in stack.items() if name != "ecn"} for stack in tcp.get("mix", ())]
    tcp.pop("ecn", None)
    return {**rest, "tcp": tcp}


def _differ_in_scheme(one: Cell, other: Cell) -> bool:
    """Return true if two cells differ only in the scheme, though their experiment digests differ by a variant."""
    return without_scheme(one.resolved) == without_scheme(other.resolved)


def _differ_in_links(one: Cell, other: Cell) -> bool:
    return without_scheme(one.resolved, links=False) == without_scheme(other.resolved, links=False)


def _identity(cell: Cell) -> tuple[str, str | None, Any]:
    return cell.spec.json, cell.kernel, cell.programs


def _refusal(rule: str, one: Cell, other: Cell, *, links: bool = True) -> str:
    specs = [_without_scheme(cell.resolved, links=links) for cell in (one, other)]
    differing = differences(specs) or differences([one.resolved, other.resolved])
    run_facts = {"kernel": (one.kernel, other.kernel), "command": (one.programs, other.programs)}
    differing |= {name: list(pair) for name, pair in run_facts.items() if pair[0] != pair[1]}
    cells_text = f"cells of {one.label}" if one.label == other.label else f"those of {one.label} and {other.label}"
    return f"results: only {rule}; {cells_text} differ in {differences_text(differing)}"


def _with_names(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the tables of users by their shorter names."""
    user_tables = dict(spec["users"])
    for field in users.FIELDS:
        if isinstance(user_tables[field], Mapping):
            user_tables[field] = users.name_of(field, user_tables[field])
    return {**columns.abridged(spec), "users": user_tables}


def value_text(value: Any) -> str:
    """Write a value of a spec as text."""
    if value is None:
        return _ABSENT
    return value if isinstance(value, str) else json.dumps(value)
