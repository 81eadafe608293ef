"""Links of a resolved spec, and names of their two directions: ``home→internet``, after the names of the sides.

Direction 0 carries the traffic from side 0. Stored tables number directions; all other output names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ARROW = "→"
TYPED_ARROW = "->"
"""The ASCII form of the arrow."""

UNNAMED = ("forward", "reverse")
"""Names of directions between sides without names."""

Names = tuple[str, str]


def names(sides: Sequence[str] | None) -> Names:
    """Return the names of direction 0 and direction 1.

    Parameters
    ----------
    sides
        The names of side 0 and side 1, if they have names.

    Examples
    --------
    >>> names(["home", "internet"])
    ('home→internet', 'internet→home')
    >>> names(None)
    ('forward', 'reverse')
    """
    if sides is None:
        return UNNAMED
    first, second = sides
    return f"{first}{ARROW}{second}", f"{second}{ARROW}{first}"


def canonical(text: str) -> str:
    """Replace ASCII arrows in a text: ``home->internet`` becomes ``home→internet``."""
    return text.replace(TYPED_ARROW, ARROW)


def place(link: int, direction: str, *, in_chain: bool) -> str:
    """Return the name of a direction of a link; in a chain with the number of the link.

    Examples
    --------
    >>> place(2, "home→internet", in_chain=True)
    'link 2 home→internet'
    """
    return f"link {link} {direction}" if in_chain else direction


def side(number: int, sides: Sequence[str] | None) -> str:
    """Return the name of a side: ``home``, or ``side 0`` if sides have no names."""
    return f"side {number}" if sides is None else sides[number]


def with_names(parts: Sequence[Mapping[str, Any]], names: Names) -> list[dict[str, Any]]:
    """Return the directions of a summary, each with its name under ``name``."""
    return [{"name": names[record["direction"]], **record} for record in parts]


def by_place(parts: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return named directions by their names, in a chain with the number of the link."""
    in_chain = len(parts) > len(UNNAMED)
    return {place(record["link"], record["name"], in_chain=in_chain): record for record in parts}


def label(names: Names) -> str:
    """Return a sentence that explains ``forward`` and ``reverse``; nothing if sides have names."""
    return f"{names[0]} carries what side 0 sends, {names[1]} what side 1 sends." if names == UNNAMED else ""


_QUEUES = ("queue", "queue_back")


def is_chain(resolved: Mapping[str, Any]) -> bool:
    """Return true if the links are in series, so that results number them."""
    return isinstance(resolved.get("link"), list)


def link_tables(resolved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables of the links from side 0 to side 1, each with its ``queue`` and perhaps a ``queue_back``.

    Examples
    --------
    >>> link_tables({"link": {"rate": "5 Mbit/s"}, "queue": {"pi": {}}})
    [{'rate': '5 Mbit/s', 'queue': {'pi': {}}}]
    """
    link = resolved.get("link", {})
    if is_chain(resolved):
        return list(link)
    return [{**link, **{name: resolved[name] for name in _QUEUES if name in resolved}}]
