"""Changes of a spec as typed: ``path=value``, such as ``users.load=90`` or ``sources[0].bulk.flows=5``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from aqmlab._core import SpecError
from aqmlab.spec import bounded_input

_STEP = re.compile(r'\.?(?:"([^"]+)"|([^\s."\[\]]+))|\[(\d+)\]')
"""A name, in quotes if it contains a dot, or a list index."""

_FORM = "write path=value, such as users.load=90 or sources[0].bulk.flows=5"

Step = str | int


class UnknownPath(SpecError):
    """A change has a wrong form, or a path that does not exist."""

    def __init__(self, what: str) -> None:
        super().__init__(f"--set: {what}")
        self.what = what
        """The message without the name of the option."""


def apply(tables: dict[str, Any], change: str) -> None:
    """Apply a change to a spec's tables.

    A value is written as in TOML; any other text is a string, so that you can omit quotes. Of mutually exclusive keys,
    such as queue disciplines, the new one replaces the old one.

    Raises
    ------
    UnknownPath
        When the path does not exist; the message says what exists there.
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
    """Return a change of a path to a number, a text or a boolean, or to a list or a table of these.

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
    # A string of JSON is also a string of TOML.
    return json.dumps(value, ensure_ascii=False)


def steps(path: str) -> list[Step]:
    """Return the names and list indices of a path; an empty list for an invalid path."""
    way: list[Step] = []
    end = 0
    while found := _STEP.match(path, end):
        quoted, bare, place = found.groups()
        way.append(int(place) if place else quoted or bare)
        end = found.end()
    return way if end == len(path) else []


def _check(at: Any, above: list[Step], step: Step, change: str) -> None:
    """Refuse a step of a path to an absent value."""
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
    """Remove the keys that exclude ``name``: another discipline, kind of source, or number of users."""
    if above[-1:] in (["queue"], ["queue_back"]) or (len(above) == 2 and above[0] == "sources"):
        others = table.keys() - {name}
    elif above == ["users"] and name in ("load", "per_side"):
        others = {"load", "per_side"} - {name}
    else:
        return
    for other in others:
        table.pop(other, None)


def value(text: str) -> object:
    """Parse the text after the equals sign as TOML, or return it as a string.

    Raises
    ------
    UnknownPath
        When it exceeds the bounds of :mod:`aqmlab.spec.bounded_input`.
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
