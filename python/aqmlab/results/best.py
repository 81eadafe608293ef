"""The best values of a number, and those not distinguishable from it seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aqmlab.metrics.numbers import Number
from aqmlab.stats import MIN_SEEDS, from_best

BEST, SIMILAR, WORSE = "best", "not distinguishable", "worse"

MARKS = {BEST: "●", SIMILAR: "○"}
"""The characters in front of values in a terminal; colours repeat what they say."""

LEGEND = (
    f"{MARKS[BEST]} marks the best mean of the schemes, {MARKS[SIMILAR]} those not distinguishable from it seed by seed"
    " (95 %). There are no marks where no mean is distinguishable from the best, or none is better."
)
"""The sentences below a table with marks."""

Samples = Sequence[float]
"""The values of one scheme, in the order of the seeds."""


def verdicts(samples: Mapping[str, Samples], number: Number, *, looks: int = 1) -> dict[str, str]:
    """Return the verdict about each scheme's values of a number.

    Parameters
    ----------
    samples
        The values by scheme, for the same seeds in the same order.
    number
        The number, which knows the better direction.
    looks
        The number of looks at which the comparison could have stopped.

    Returns
    -------
    dict
        One of the three by scheme; empty if no scheme is worse than the best, or there are too few seeds.

    Examples
    --------
    >>> from aqmlab.metrics.numbers import NUMBERS
    >>> verdicts({"pie": [5.0, 7.0, 6.0], "codel": [1.0, 2.0, 3.0]}, NUMBERS["loss"])
    {'codel': 'best', 'pie': 'worse'}
    """
    if number.better is None or len(samples) < 2 or min(map(len, samples.values())) < MIN_SEEDS:
        return {}
    sign = -1 if number.better == "higher" else 1
    differences = from_best({label: sign * np.array(values) for label, values in samples.items()}, looks=looks)
    found = {
        label: BEST if difference is None else WORSE if difference.is_significant else SIMILAR
        for label, difference in differences.items()
    }
    return found if WORSE in found.values() else {}


def marked(text: str, verdict: str) -> str:
    """Return the text of a number with its mark; a space that breaks no line separates both."""
    return f"{MARKS[verdict]}\N{NO-BREAK SPACE}{text}" if verdict in MARKS else text


def style(verdict: str) -> str:
    """Return the style of a number by its verdict."""
    return {BEST: "bold green", SIMILAR: "green"}.get(verdict, "")
