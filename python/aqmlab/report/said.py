"""The narrative of a report: question, answer and notes in sentences computed from the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from aqmlab import stats
from aqmlab.cells.cell import Cell
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.report import series
from aqmlab.report.gathered import Gathered
from aqmlab.results import grouping
from aqmlab.results.cells import BASELINE
from aqmlab.spec import directions
from aqmlab.stats import FEWEST, from_best
from aqmlab.stats.intervals import Values
from aqmlab.store.result import Result

_MOST_NAMED = 6
"""The largest number of schemes in a sentence; the tables have all."""

_TIMES = {"p50": "the median response time", "p90": "the 90th percentile"}


def question(gathered: Gathered, names: Mapping[str, str]) -> tuple[str, str]:
    """Return the question of the report, and the setting: link, users and times."""
    labels = [names[label] for label in gathered.labels or gathered.by_label]
    who = "web users" if gathered.valid[0].cell.users_per_side else "senders"
    if len(labels) == 1:
        asked = f"How do {who} fare under {labels[0]}?"
    elif len(labels) <= _MOST_NAMED:
        asked = f"Under which of these do {who} fare best: {_listed(labels, 'or')}?"
    else:
        asked = f"Under which of {len(labels)} schemes do {who} fare best?"
    cells = [each.cell for label in gathered.labels or gathered.by_label for each in gathered.by_label[label]]
    if len({_setting(cell) for cell in cells}) > 1:
        return asked, "The cells are of several experiments, which are below."
    return asked, f"{_setting(cells[0])} {_seeds(cell.seed for cell in cells)}"


def answer(gathered: Gathered, names: Mapping[str, str]) -> list[str]:
    """Return the sentences of the answer; intervals are 95 % intervals."""
    if all(_values(gathered.by_label[label], partial(_time, "p50")) is None for label in gathered.labels):
        sentences = [
            _least(gathered, names, partial(_delay, number), f"the mean delay in the queue {place}")
            for number, place in enumerate(directions.by_place(gathered.valid[0].record()["directions"]))
        ]
    else:
        sentences = [_least(gathered, names, partial(_time, share), what) for share, what in _TIMES.items()]
    sentences += [_losses(gathered, names), _certainty(gathered)]
    return [sentence[0].upper() + sentence[1:] for sentence in sentences if sentence]


def notes(gathered: Gathered) -> list[str]:
    """Return sentences about the cells that a reader needs before the results."""
    said = [*grouping.invalid_note(gathered.invalid), *gathered.comparison.notes]
    seeds = {tuple(sorted(each.cell.seed for each in results)) for results in gathered.by_label.values()}
    if len(seeds) > 1:
        said.append("Schemes have different seeds; differences are of the seeds that all of them have.")
    return said


def _setting(cell: Cell) -> str:
    """Return a sentence about the link, the users and the times."""
    links = cell.links
    what = "The link carries" if len(links) == 1 else f"The {len(links)} links carry"
    parts = [f"{what} {_rates(cell)}"]
    of_users = _round_trips(cell.resolved["users"]["rtt"]) if cell.users_per_side else ""
    parts.append(f"{cell.describe_users()}{of_users}")
    if sources := cell.resolved.get("sources"):
        names = [str(parameters.get("name", kind)) for each in sources for kind, parameters in each.items()]
        parts.append(f"beside {_listed(_few(names), 'and')}")
    protocol = cell.resolved["protocol"]
    where = "in the simulator" if cell.kernel is None else f"over the TCP of Linux {cell.kernel}"
    parts.append(f"measured for {protocol['duration']} after {protocol['warmup']}, {where}")
    return "; ".join(parts) + "."


def _rates(cell: Cell) -> str:
    """Return the rates of the links in each direction."""
    each = [
        list(dict.fromkeys(_rate(rate) for rate in rates))
        for rates in zip(*((link.rate_bps, link.rate_back_bps) for link in cell.links), strict=True)
    ]
    if each[0] == each[1]:
        return f"{_listed(each[0], 'and')} in each direction"
    return ", ".join(f"{_listed(rates, 'and')} {name}" for rates, name in zip(each, cell.direction_names, strict=True))


def _round_trips(table: Mapping[str, Any]) -> str:
    match table.get("distribution"):
        case {"uniform_ms": {"min": least, "max": most}}:
            return f" from {least:g} to {most:g} ms"
        case {"quantiles_ms": [[_, least], *_, [_, most]]}:
            return f" from {least:g} to {most:,g} ms"
    return ""


def _seeds(seeds: Iterable[int]) -> str:
    numbers = sorted(set(seeds))
    return "One seed." if len(numbers) == 1 else f"{len(numbers)} seeds."


def _least(gathered: Gathered, names: Mapping[str, str], measure: Measure, what: str) -> str:
    """Return a sentence about a time: the shortest, the indistinguishable and the longer ones, or all without pairs."""
    cells = (
        gathered.pairs if gathered.has_enough_pairs else {label: gathered.by_label[label] for label in gathered.labels}
    )
    known = {label: values for label, of in cells.items() if (values := _values(of, measure)) is not None}
    if not known:
        return ""
    baseline = _values(gathered.by_label.get(BASELINE, []), measure)
    free = "" if baseline is None else f"; on the uncongested network it is {_number(baseline.mean())} ms"
    if len(known) == 1 or not gathered.has_enough_pairs:
        each = [f"{_mean(values)} under {names[label]}" for label, values in known.items()]
        return f"{what} is {_listed(_few(each), 'and')}{free}."
    behind = from_best(known)
    best = next(iter(behind))
    others = [(names[label], each) for label, each in behind.items() if each is not None]
    alike = [name + _brackets(each.low, each.high, " ms") for name, each in others if not each.is_significant]
    longer = [
        f"{_number(each.mean)} ms longer under {name}{_brackets(each.low, each.high)}"
        for name, each in others
        if each.is_significant
    ]
    parts = [f"{what} is shortest under {names[best]}, {_mean(known[best])}{free}"]
    if alike:
        parts.append(f"not distinguishable from it {'is' if len(alike) == 1 else 'are'} {_listed(_few(alike), 'and')}")
    if longer:
        parts.append(f"it is {_listed(_few(longer), 'and')}")
    return f"{'; '.join(parts)}."


def _mean(values: Values) -> str:
    """Return a mean time as text with its interval, if any, limited to 0."""
    mean, low, high = stats.mean_interval(values)
    return f"{_number(mean)} ms" + (_brackets(max(low, 0.0), high) if len(values) >= FEWEST else "")


def _brackets(low: float, high: float, unit: str = "") -> str:
    return f" ({_number(low)} to {_number(high)}{unit})" if math.isfinite(high) else ""


def _losses(gathered: Gathered, names: Mapping[str, str]) -> str:
    """Return a sentence about the loss in each direction."""
    of_places = []
    for place, intervals in series.intervals(gathered, NUMBERS["loss"]).items():
        known = {
            label: frame["mean"].item() for label, frame in intervals.items() if frame.height and label != BASELINE
        }
        if not known:
            continue
        least, most = min(known, key=lambda label: known[label]), max(known, key=lambda label: known[label])
        share = f"{known[least]:.2f} %"
        if f"{known[most]:.2f} %" != share:
            share = f"from {share} ({names[least]}) to {known[most]:.2f} % ({names[most]})"
        of_places.append(f"{share} {place}")
    return f"The loss of packets is {_listed(of_places, 'and')}." if of_places else ""


def _certainty(gathered: Gathered) -> str:
    seeds = max(len(results) for results in gathered.by_label.values())
    if seeds < FEWEST:
        few = "One seed is" if seeds == 1 else f"{seeds} seeds are"
        return f"{few} too few to tell schemes apart or to give intervals: run at least {FEWEST}, 5 are better."
    pairs = " Those of differences hold together for all schemes." if gathered.has_enough_pairs else ""
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


def _few(said: list[str]) -> list[str]:
    return said if len(said) <= _MOST_NAMED else [*said[: _MOST_NAMED - 1], f"{len(said) - _MOST_NAMED + 1} more"]


def _listed(words: Iterable[str], last: str) -> str:
    *before, final = words
    return f"{', '.join(before)} {last} {final}" if before else final


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
