"""Labels for display: untrusted names, shortened, with invisible characters spelt out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_MAX_LENGTH = 40
"""The largest number of characters of a name in a figure or a sentence; tables have the whole name."""


def visible(text: str) -> str:
    r"""Spell out invisible characters: marks of direction, control characters, lone surrogates.

    Examples
    --------
    >>> visible("pi\u202e")
    'pi⟨U+202E⟩'
    """
    return "".join(map(_spell_out, text))


def shorten(labels: Iterable[str]) -> dict[str, str]:
    """Return a unique short name for each label."""
    names: dict[str, str] = {}
    for label in labels:
        name = visible(label.replace("\n", " "))
        if len(name) > _MAX_LENGTH:
            name = name[: _MAX_LENGTH - 1] + "…"
        count = sum(other.startswith(name) for other in names.values())
        names[label] = f"{name} ({count + 1})" if name in names.values() else name
    return names


def _spell_out(character: str) -> str:
    is_shapeless = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and character != "\n"
    return f"⟨U+{ord(character):04X}⟩" if is_shapeless else character
