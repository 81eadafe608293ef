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

    def __init__(self, message: str) -> None:
        super().__init__(f"--set: {message}")
        self.message = message
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
    path_steps = steps(path.strip())
    if not (equals and path_steps and isinstance(path_steps[0], str)):
        raise UnknownPath(f"{_FORM}, got {change!r}")
    if len(path_steps) > bounded_input.MAX_LEVELS:
        raise UnknownPath(f"a path must have at most {bounded_input.MAX_LEVELS} steps, got {len(path_steps):,}")
    node: Any = tables
    for n, (step, following) in enumerate(zip(path_steps, [*path_steps[1:], None], strict=True)):
        _check(node, path_steps[:n], step, change)
        if isinstance(step, str):
            _remove_alternatives(node, path_steps[:n], step)
        if following is None:
            node[step] = value(text)
        elif isinstance(step, int):
            node = node[step]
        else:
            node = node.setdefault(step, {} if isinstance(following, str) else [])


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
        return "{" + ", ".join(f"{_as_toml(str(key))} = {_as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_as_toml, value))}]"
    # A string of JSON is also a string of TOML.
    return json.dumps(value, ensure_ascii=False)


def steps(path: str) -> list[Step]:
    """Return the names and list indices of a path; an empty list for an invalid path."""
    path_steps: list[Step] = []
    end = 0
    while match := _STEP.match(path, end):
        quoted, bare, index = match.groups()
        path_steps.append(int(index) if index else quoted or bare)
        end = match.end()
    return path_steps if end == len(path) else []


def _check(node: Any, parents: list[Step], step: Step, change: str) -> None:
    """Refuse a step of a path to an absent value."""
    parent = _path_text(parents)
    if isinstance(step, int):
        if not isinstance(node, list):
            raise UnknownPath(f"{parent} is {_kind(node)}, not a list, in {change!r}")
        if step >= len(node):
            content = f"has {parent}[0] to {parent}[{len(node) - 1}]" if node else "has none: write the whole list"
            raise UnknownPath(f"{parent} {content}, got {change!r}")
    elif isinstance(node, list):
        raise UnknownPath(f"{parent} is a list: write {parent}[0].{step} for the first entry's, got {change!r}")
    elif not isinstance(node, dict):
        raise UnknownPath(f"{parent} is {_kind(node)}, not a table: write {parent}=value, got {change!r}")


def _remove_alternatives(table: dict[str, Any], parents: list[Step], name: str) -> None:
    """Remove the keys that exclude ``name``: another discipline, kind of source, or number of users."""
    if parents[-1:] in (["queue"], ["queue_back"]) or (len(parents) == 2 and parents[0] == "sources"):
        others = table.keys() - {name}
    elif parents == ["users"] and name in ("load", "per_side"):
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
    except bounded_input.LimitError as error:
        raise UnknownPath(str(error)) from None
    except bounded_input.ParseError:
        return text


def _kind(node: object) -> str:
    return "a table" if isinstance(node, dict) else "a list" if isinstance(node, list) else f"the value {node!r}"


def _path_text(steps: list[Step]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
