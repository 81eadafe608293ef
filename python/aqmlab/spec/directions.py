"""Names of the two directions of a link: ``home→internet``, after the names that a spec gives to the sides.

Direction 0 carries what side 0 sends. Stored tables number directions; everything that people read names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ARROW = "→"
TYPED_ARROW = "->"
"""How the arrow may be typed."""

UNNAMED = ("forward", "reverse")
"""Names of directions between sides without names."""

Names = tuple[str, str]


def names(sides: Sequence[str] | None) -> Names:
    """Return the names of direction 0 and direction 1.

    Parameters
    ----------
    sides
        The names of side 0 and side 1, where they have names.

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
    """Return a text with its typed arrows as arrows: ``home->internet`` is ``home→internet``."""
    return text.replace(TYPED_ARROW, ARROW)


def place(link: int, direction: str, *, in_chain: bool) -> str:
    """Name a direction of a link; in a chain with the number of the link.

    Examples
    --------
    >>> place(2, "home→internet", in_chain=True)
    'link 2 home→internet'
    """
    return f"link {link} {direction}" if in_chain else direction


def side(number: int, sides: Sequence[str] | None) -> str:
    """Name a side, for use after "at": ``home``, or ``side 0`` where sides have no names."""
    return f"side {number}" if sides is None else sides[number]


def named(parts: Sequence[Mapping[str, Any]], of: Names) -> list[dict[str, Any]]:
    """Return the directions of a summary, each with its name under ``name``."""
    return [{"name": of[it["direction"]], **it} for it in parts]


def by_place(parts: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return directions that have names by what each is called: in a chain with the number of its link."""
    in_chain = len(parts) > len(UNNAMED)
    return {place(it["link"], it["name"], in_chain=in_chain): it for it in parts}


def label(of: Names) -> str:
    """Say which direction is which, where sides have no names; else nothing, since their names say it."""
    return f"{of[0]} carries what side 0 sends, {of[1]} what side 1 sends." if of == UNNAMED else ""
