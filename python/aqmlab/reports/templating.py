"""Templates of pages: values are escaped as text unless they are marked as raw HTML."""

from __future__ import annotations

import re
from importlib import resources
from importlib.metadata import version
from typing import Any

from aqmlab.reports import labels


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
    return labels.visible(value) if type(value) is str else value


def _breakable(name: str) -> Any:
    """Allow line breaks between the parameters of a scheme."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(labels.visible(part)) for part in re.split("(?<=[:,])", name))
