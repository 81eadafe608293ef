"""Templates of pages: values are escaped as text unless they are marked as raw HTML, and labels are shortened."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from importlib import resources
from importlib.metadata import version
from typing import Any

_MAX_LENGTH = 40
"""The largest number of characters of a name in a figure or a sentence; tables have the whole name."""


def render(template: str, **values: Any) -> str:
    """Return a page from a template, with the style sheet and the version."""
    # jinja2 is slow to import, and the help of commands does not need it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("aqmlab.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    pages.filters["breakable"] = _breakable
    return pages.get_template(template).render(
        css=raw(read_file("static/figures.css") + read_file("templates/report.css")),
        version=version("aqmlab"),
        **values,
    )


def read_file(name: str) -> str:
    """Return the text of a file in the package."""
    return (resources.files("aqmlab.reports") / name).read_text(encoding="utf-8")


def raw(text: str) -> Any:
    """Mark text as raw HTML."""
    from markupsafe import Markup

    return Markup(text)


def _visible(value: Any) -> Any:
    """Spell out invisible characters in text."""
    return visible(value) if type(value) is str else value


def _breakable(name: str) -> Any:
    """Allow line breaks between the parameters of a scheme."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(visible(part)) for part in re.split("(?<=[:,])", name))


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
