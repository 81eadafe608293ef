"""The reference page of measures on request: what each is and where it is from, and its numbers with their units."""

from __future__ import annotations

import sys

from aqmlab.results.measures import MEASURES, Measure
from markdown import docstring, table

_PAGE = """<!-- Written by `make reference` from the code. Change python/aqmlab/results/measures, then run it. -->

# Measures on request

What `aqmlab compare --measures NAME,...` and `comparison.measured("NAME")` work out;
[the guide](../guide/results.md#measures-on-request) says how they are used. A row has its scheme's `label`, what it is
`of`, and these numbers: means over the seeds, half of whose 95 % intervals (Student's t) are in `half_width` by the
same names; only those of `slowdown` are of all seeds' requests together.

{measures}
"""


def measures() -> str:
    """Write the page."""
    return _PAGE.format(measures="\n".join(_section(*each) for each in MEASURES.items()).rstrip("\n"))


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
