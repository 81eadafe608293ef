"""The narrative of a report: question, answer and notes in sentences computed from the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from aqmlab import stats
from aqmlab.cells.cell import Cell
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.reports import downsample
from aqmlab.reports.selection import Selection
from aqmlab.results import grouping
from aqmlab.results.cells import BASELINE
from aqmlab.spec import directions
from aqmlab.stats import MIN_SEEDS, from_best
from aqmlab.stats.intervals import Values
from aqmlab.store.result import Result

_MAX_NAMES = 6
"""The largest number of schemes in a sentence; the tables have all."""

_TIMES = {"p50": "the median response time", "p90": "the 90th percentile"}


def question(selection: Selection, names: Mapping[str, str]) -> tuple[str, str]:
    """Return the question of the report, and the setting: link, users and times."""
    labels = [names[label] for label in selection.labels or selection.by_label]
    senders = "web users" if selection.valid[0].cell.users_per_side else "senders"
    if len(labels) == 1:
        text = f"How do {senders} fare under {labels[0]}?"
    elif len(labels) <= _MAX_NAMES:
        text = f"Under which of these do {senders} fare best: {_join_words(labels, 'or')}?"
    else:
        text = f"Under which of {len(labels)} schemes do {senders} fare best?"
    cells = [result.cell for label in selection.labels or selection.by_label for result in selection.by_label[label]]
    if len({_setting(cell) for cell in cells}) > 1:
        return text, "The cells belong to several experiments, which are listed below."
    return text, f"{_setting(cells[0])} {_seeds(cell.seed for cell in cells)}"


def answer(selection: Selection, names: Mapping[str, str]) -> list[str]:
    """Return the sentences of the answer; intervals are 95 % intervals."""
    if all(_values(selection.by_label[label], partial(_time, "p50")) is None for label in selection.labels):
        sentences = [
            _time_sentence(selection, names, partial(_delay, number), f"the mean delay in the queue {position}")
            for number, position in enumerate(directions.by_place(selection.valid[0].record()["directions"]))
        ]
    else:
        sentences = [
            _time_sentence(selection, names, partial(_time, share), quantity) for share, quantity in _TIMES.items()
        ]
    sentences += [_loss_sentence(selection, names), _precision_sentence(selection)]
    return [sentence[0].upper() + sentence[1:] for sentence in sentences if sentence]


def notes(selection: Selection) -> list[str]:
    """Return sentences about the cells that a reader needs before the results."""
    sentences = [*grouping.invalid_note(selection.invalid), *selection.comparison.notes]
    seeds = {tuple(sorted(result.cell.seed for result in results)) for results in selection.by_label.values()}
    if len(seeds) > 1:
        sentences.append("The schemes have different seeds; differences use the seeds that all of them have.")
    return sentences


def _setting(cell: Cell) -> str:
    """Return a sentence about the link, the users and the times."""
    links = cell.links
    subject = "The link carries" if len(links) == 1 else f"The {len(links)} links carry"
    parts = [f"{subject} {_rates(cell)}"]
    round_trips = _round_trips(cell.resolved["users"]["rtt"]) if cell.users_per_side else ""
    parts.append(f"{cell.describe_users()}{round_trips}")
    if sources := cell.resolved.get("sources"):
        names = [str(parameters.get("name", kind)) for source in sources for kind, parameters in source.items()]
        parts.append(f"with {_join_words(_shorten(names), 'and')}")
    protocol = cell.resolved["protocol"]
    parts.append(f"measured for {protocol['duration']} after {protocol['warmup']}, {cell.where}")
    return "; ".join(parts) + "."


def _rates(cell: Cell) -> str:
    """Return the rates of the links in each direction."""
    forward, reverse = (
        _join_words(dict.fromkeys(_rate(rate) for rate in rates), "and")
        for rates in zip(*((link.rate_bps, link.rate_back_bps) for link in cell.links), strict=True)
    )
    if forward == reverse:
        return f"{forward} in each direction"
    return ", ".join(f"{rates} {name}" for rates, name in zip((forward, reverse), cell.direction_names, strict=True))


def _round_trips(table: Mapping[str, Any]) -> str:
    match table.get("distribution"):
        case {"uniform_ms": {"min": low, "max": high}}:
            return f" from {low:g} to {high:g} ms"
        case {"quantiles_ms": [[_, low], *_, [_, high]]}:
            return f" from {low:g} to {high:,g} ms"
    return ""


def _seeds(seeds: Iterable[int]) -> str:
    numbers = sorted(set(seeds))
    return "One seed." if len(numbers) == 1 else f"{len(numbers)} seeds."


def _time_sentence(selection: Selection, names: Mapping[str, str], measure: Measure, quantity: str) -> str:
    """Return a sentence about a time: the shortest, the indistinguishable and the longer ones, or all without pairs."""
    cells = selection.pairs
    if not selection.has_enough_pairs:
        cells = {label: selection.by_label[label] for label in selection.labels}
    times = {label: values for label, results in cells.items() if (values := _values(results, measure)) is not None}
    if not times:
        return ""
    baseline = _values(selection.by_label.get(BASELINE, []), measure)
    baseline_clause = "" if baseline is None else f"; on the uncongested network it is {_number(baseline.mean())} ms"
    if len(times) == 1 or not selection.has_enough_pairs:
        means = [f"{_mean(values)} under {names[label]}" for label, values in times.items()]
        return f"{quantity} is {_join_words(_shorten(means), 'and')}{baseline_clause}."
    differences = from_best(times)
    best = next(iter(differences))
    others = [(names[label], difference) for label, difference in differences.items() if difference is not None]
    similar = [
        name + _brackets(difference.low, difference.high, " ms")
        for name, difference in others
        if not difference.is_significant
    ]
    longer = [
        f"{_number(difference.mean)} ms longer under {name}{_brackets(difference.low, difference.high)}"
        for name, difference in others
        if difference.is_significant
    ]
    parts = [f"{quantity} is shortest under {names[best]}, {_mean(times[best])}{baseline_clause}"]
    if similar:
        verb = "is" if len(similar) == 1 else "are"
        parts.append(f"not distinguishable from it {verb} {_join_words(_shorten(similar), 'and')}")
    if longer:
        parts.append(f"it is {_join_words(_shorten(longer), 'and')}")
    return f"{'; '.join(parts)}."


def _mean(values: Values) -> str:
    """Return a mean time as text with its interval, if any, limited to 0."""
    mean, low, high = stats.mean_interval(values)
    return f"{_number(mean)} ms" + (_brackets(max(low, 0.0), high) if len(values) >= MIN_SEEDS else "")


def _brackets(low: float, high: float, unit: str = "") -> str:
    return f" ({_number(low)} to {_number(high)}{unit})" if math.isfinite(high) else ""


def _loss_sentence(selection: Selection, names: Mapping[str, str]) -> str:
    """Return a sentence about the loss in each direction."""
    by_place = []
    for position, intervals in downsample.intervals(selection, NUMBERS["loss"]).items():
        losses = [
            (frame["mean"].item(), label) for label, frame in intervals.items() if frame.height and label != BASELINE
        ]
        if not losses:
            continue
        (low, lowest), (high, highest) = min(losses, key=itemgetter(0)), max(losses, key=itemgetter(0))
        share = f"{low:.2f} %"
        if f"{high:.2f} %" != share:
            share = f"from {share} ({names[lowest]}) to {high:.2f} % ({names[highest]})"
        by_place.append(f"{share} {position}")
    return f"The loss of packets is {_join_words(by_place, 'and')}." if by_place else ""


def _precision_sentence(selection: Selection) -> str:
    seeds = max(len(results) for results in selection.by_label.values())
    if seeds < MIN_SEEDS:
        subject = "One seed is" if seeds == 1 else f"{seeds} seeds are"
        return f"{subject} too few to distinguish schemes or to give intervals: run at least {MIN_SEEDS}, better 5."
    pairs = " Intervals of differences are simultaneous for all schemes." if selection.has_enough_pairs else ""
    return f"The brackets are 95 % intervals over {seeds} seeds (Student's t).{pairs}"


Measure = Callable[[Result], float | None]


def _time(share: str, result: Result) -> float | None:
    return result.measure(f"response_time_ms.{share}")


def _delay(direction: int, result: Result) -> float | None:
    """Return the mean queueing delay in a direction of a link."""
    mean: float | None = result.summary["directions"][direction]["queue_delay_ms"]["mean"]
    return mean


def _values(results: Sequence[Result], measure: Measure) -> Any:
    """Return a measure of all seeds; ``None`` if a seed lacks it."""
    values = [measure(result) for result in results]
    return np.array(values, dtype=float) if values and None not in values else None


def _shorten(names: list[str]) -> list[str]:
    return names if len(names) <= _MAX_NAMES else [*names[: _MAX_NAMES - 1], f"{len(names) - _MAX_NAMES + 1} more"]


def _join_words(words: Iterable[str], conjunction: str) -> str:
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _rate(bps: int) -> str:
    return (
        f"{bps / 1e9:g} Gbit/s"
        if bps >= 10**9
        else f"{bps / 1e6:g} Mbit/s"
        if bps >= 10**6
        else f"{bps / 1e3:g} kbit/s"
    )


def _number(value: float) -> str:
    """Return a number with three digits and grouped thousands."""
    return f"{float(f'{value:.3g}'):,.10g}"
