"""Changes to a spec, as typed: ``path=value``, such as ``users.load=90`` or ``sources[0].bulk.flows=5``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from aqmlab._core import SpecError
from aqmlab.spec import bounded_input

_STEP = re.compile(r'\.?(?:"([^"]+)"|([^\s."\[\]]+))|\[(\d+)\]')
"""A name, which has quotes if a dot is in it, or a place in a list."""

_FORM = "write path=value, such as users.load=90 or sources[0].bulk.flows=5"

Step = str | int


class UnknownPath(SpecError):
    """A change that is written otherwise, or of what is not there."""

    def __init__(self, what: str) -> None:
        super().__init__(f"--set: {what}")
        self.what = what
        """The same where it came by no option."""


def apply(tables: dict[str, Any], change: str) -> None:
    """Change a spec's tables.

    A value is written as in TOML; what is no TOML value is text, so that quotes may be left out. Where only one of
    several may stand, such as a queue discipline, another takes its place.

    Raises
    ------
    Misplaced
        When there is nothing at this path, saying what there is.
    """
    path, equals, text = change.partition("=")
    way = steps(path.strip())
    if not (equals and way and isinstance(way[0], str)):
        raise UnknownPath(f"{_FORM}, got {change!r}")
    if len(way) > bounded_input.MOST_LEVELS:
        raise UnknownPath(f"a path must have at most {bounded_input.MOST_LEVELS} steps, got {len(way):,}")
    at: Any = tables
    for n, (step, following) in enumerate(zip(way, [*way[1:], None], strict=True)):
        _check(at, way[:n], step, change)
        if isinstance(step, str):
            _make_room(at, way[:n], step)
        if following is None:
            at[step] = value(text)
        elif isinstance(step, int):
            at = at[step]
        else:
            at = at.setdefault(step, {} if isinstance(following, str) else [])


def assignment(path: str, value: object) -> str:
    """Write a change of a path, to a number, a text, true or false, or to a list or a table of such.

    Examples
    --------
    >>> assignment("link.rate_changes", [{"at": "10 s", "rate": "5 Mbit/s"}])
    'link.rate_changes=[{"at" = "10 s", "rate" = "5 Mbit/s"}]'
    """
    return f"{path}={_as_toml(value)}"


def _as_toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_as_toml(str(key))} = {_as_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_as_toml, value))}]"
    # A text of JSON is one of TOML.
    return json.dumps(value, ensure_ascii=False)


def steps(path: str) -> list[Step]:
    """Return the names and places of a path; none where it is no path."""
    way: list[Step] = []
    end = 0
    while found := _STEP.match(path, end):
        quoted, bare, place = found.groups()
        way.append(int(place) if place else quoted or bare)
        end = found.end()
    return way if end == len(path) else []


def _check(at: Any, above: list[Step], step: Step, change: str) -> None:
    """Refuse a step to where nothing is."""
    where = _written(above)
    if isinstance(step, int):
        if not isinstance(at, list):
            raise UnknownPath(f"{where} is {_kind(at)}, not a list, in {change!r}")
        if step >= len(at):
            there = f"has {where}[0] to {where}[{len(at) - 1}]" if at else "has none: write the whole list"
            raise UnknownPath(f"{where} {there}, got {change!r}")
    elif isinstance(at, list):
        raise UnknownPath(f"{where} is a list: write {where}[0].{step} for the first entry's, got {change!r}")
    elif not isinstance(at, dict):
        raise UnknownPath(f"{where} is {_kind(at)}, not a table: write {where}=value, got {change!r}")


def _make_room(table: dict[str, Any], above: list[Step], name: str) -> None:
    """Take away what cannot stand beside ``name``: another discipline, kind of source, or number of users."""
    if above[-1:] in (["queue"], ["queue_back"]) or (len(above) == 2 and above[0] == "sources"):
        others = table.keys() - {name}
    elif above == ["users"] and name in ("load", "per_side"):
        others = {"load", "per_side"} - {name}
    else:
        return
    for other in others:
        table.pop(other, None)


def value(text: str) -> object:
    """Read what is written after the equals sign: as in TOML, or else text.

    Raises
    ------
    Misplaced
        When it is beyond the bounds of what is read.
    """
    try:
        return bounded_input.toml(f"value = {text}")["value"]
    except bounded_input.Excessive as error:
        raise UnknownPath(str(error)) from None
    except bounded_input.Unreadable:
        return text


def _kind(at: object) -> str:
    return "a table" if isinstance(at, dict) else "a list" if isinstance(at, list) else f"the value {at!r}"


def _written(steps: list[Step]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
