"""Templates, filled in: what is shown is text, whoever wrote it, but for what was made to be part of the page."""

from __future__ import annotations

import re
from importlib import resources
from importlib.metadata import version
from typing import Any

from aqmlab.report import names


def filled(template: str, **values: Any) -> str:
    """Return a page: a template with its values, the style and the version."""
    # It takes a while to import, and the command's help does without.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("aqmlab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    pages.filters["breakable"] = _breakable
    return pages.get_template(template).render(
        css=raw(part("templates/report.css")), version=version("aqmlab"), **values
    )


def part(name: str) -> str:
    """Return a file of the package."""
    return (resources.files("aqmlab.report") / name).read_text(encoding="utf-8")


def raw(text: str) -> Any:
    """Return what is part of the page as it is."""
    from markupsafe import Markup

    return Markup(text)


def _shown(value: Any) -> Any:
    """Spell what has no shape in all text that the page shows."""
    return names.visible(value) if type(value) is str else value


def _breakable(name: str) -> Any:
    """Let a scheme's name be broken between its parameters rather than within one."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(names.visible(part)) for part in re.split("(?<=[:,])", name))
