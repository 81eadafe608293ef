"""The reference page of measures on request: what each is and where it is from, and its numbers with their units."""

from __future__ import annotations

import sys

from aqmlab.results.measures import MEASURES, Measure
from markdown import docstring, table
from reference.template import template


def measures() -> str:
    """Write the page."""
    return template("measures").format(measures="\n".join(_section(*each) for each in MEASURES.items()).rstrip("\n"))


def _section(name: str, measure: Measure) -> str:
    about = docstring(sys.modules[measure.rows.__module__].__doc__ or "")
    needs = [
        "a row for each request, which are kept when it is asked for" * measure.needs_exchanges,
        "the uncongested network among the schemes" * measure.needs_uncongested,
    ]
    said = "; ".join(filter(None, needs))
    rows = [(f"`{key}`", column.unit) for key, column in measure.columns.items()]
    return (
        f"## `{name}`\n\n{about}\n{f'Needs {said}.{chr(10)}{chr(10)}' if said else ''}{table(('number', 'unit'), rows)}"
    )
