"""Schemes in the order of a quantity: the best, those not distinguishable from it, and by how much others are worse."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aqmlab import stats
from aqmlab.reports.selection import Selection
from aqmlab.results.best import BEST, SIMILAR, WORSE
from aqmlab.results.cells import BASELINE
from aqmlab.spec import directions
from aqmlab.stats import MIN_SEEDS, from_best
from aqmlab.stats.intervals import Values
from aqmlab.stats.paired import Difference
from aqmlab.store.result import Result


@dataclass(frozen=True)
class Rank:
    """The place of a scheme; texts have three digits."""

    mean: str
    interval: str = ""
    """The 95 % interval of the mean; empty for too few seeds."""
    verdict: str = ""
    """One of the three, or empty for too few pairs of seeds."""
    difference: str = ""
    """The difference from the best, with its interval; empty for the best."""


@dataclass(frozen=True)
class Ranking:
    """The places of the schemes for one quantity, of which less is better."""

    quantity: str
    """The quantity with its unit."""
    ranks: Mapping[str, Rank]
    """The places by label, the best first; the baseline, which takes no part, is the last."""

    @property
    def has_verdicts(self) -> bool:
        """True if there are enough pairs of seeds to compare the schemes."""
        return any(rank.verdict for rank in self.ranks.values())


def rankings(selection: Selection) -> list[Ranking]:
    """Return the rankings by percentiles of response times, without web users by queueing delays."""
    times = {
        "median response time, ms": partial(_time, "p50"),
        "90th percentile, ms": partial(_time, "p90"),
        "99th percentile, ms": partial(_time, "p99"),
    }
    delays = {
        f"mean queueing delay {position}, ms": partial(_delay, number)
        for number, position in enumerate(directions.by_place(selection.valid[0].record()["directions"]))
    }
    found = [_ranking(selection, quantity, measure) for quantity, measure in times.items()]
    if not any(ranking.ranks for ranking in found):
        found = [_ranking(selection, quantity, measure) for quantity, measure in delays.items()]
    return [ranking for ranking in found if ranking.ranks]


def _ranking(selection: Selection, quantity: str, measure: Callable[[Result], float | None]) -> Ranking:
    cells = selection.pairs if selection.has_enough_pairs else selection.by_label
    measured = {label: values(results, measure) for label, results in cells.items() if label != BASELINE}
    by_label = {label: numbers for label, numbers in measured.items() if numbers is not None}
    if not by_label:
        return Ranking(quantity, {})
    if selection.has_enough_pairs:
        ranks = {label: _rank(by_label[label], difference) for label, difference in from_best(by_label).items()}
    else:
        order = sorted(by_label, key=lambda label: float(by_label[label].mean()))
        ranks = {label: _rank(by_label[label]) for label in order}
    baseline = values(selection.by_label.get(BASELINE, []), measure)
    return Ranking(quantity, ranks if baseline is None else {**ranks, BASELINE: _rank(baseline)})


_UNPAIRED = Difference(0.0, 0.0, 0.0)


def _rank(numbers: Values, difference: Difference | None = _UNPAIRED) -> Rank:
    mean, low, high = stats.mean_interval(numbers)
    interval = _interval(max(low, 0.0), high) if len(numbers) >= MIN_SEEDS else ""
    if difference is _UNPAIRED:
        return Rank(number(mean), interval)
    if difference is None:
        return Rank(number(mean), interval, BEST)
    verdict = WORSE if difference.is_significant else SIMILAR
    share = f" ({100 * difference.mean / (mean - difference.mean):.0f} %)" if difference.is_significant else ""
    text = f"+{number(difference.mean)}{share} {_interval(difference.low, difference.high)}".rstrip()
    return Rank(number(mean), interval, verdict, text)


def values(results: Sequence[Result], measure: Callable[[Result], float | None]) -> Any:
    """Return a measure of all seeds; ``None`` if a seed lacks it."""
    measured = [measure(result) for result in results]
    return np.array(measured, dtype=float) if measured and None not in measured else None


def number(value: float) -> str:
    """Return a number with three digits and grouped thousands."""
    return f"{float(f'{value:.3g}'):,.10g}"


def _interval(low: float, high: float) -> str:
    return f"[{number(low)}, {number(high)}]" if math.isfinite(high) else ""


def _time(share: str, result: Result) -> float | None:
    return result.measure(f"response_time_ms.{share}")


def _delay(direction: int, result: Result) -> float | None:
    """Return the mean queueing delay in a direction of a link."""
    mean: float | None = result.summary["directions"][direction]["queue_delay_ms"]["mean"]
    return mean
