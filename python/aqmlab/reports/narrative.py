"""The narrative of a report: question, answer and notes in sentences computed from the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from aqmlab.cells.cell import Cell
from aqmlab.explanations import PARTS
from aqmlab.metrics.numbers import NUMBERS, Number
from aqmlab.reports import breakdown, downsample
from aqmlab.reports.breakdown import Breakdown
from aqmlab.reports.ranking import Ranking
from aqmlab.reports.selection import Selection
from aqmlab.results import grouping
from aqmlab.results.best import BEST, SIMILAR
from aqmlab.results.cells import BASELINE
from aqmlab.stats import MIN_SEEDS

_MAX_NAMES = 6
"""The largest number of schemes in a sentence; the tables have all."""

_MAX_PARTS = 3
"""The number of parts of the response time in a sentence."""


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


def answer(selection: Selection, rankings: Sequence[Ranking], names: Mapping[str, str]) -> list[str]:
    """Return the sentences around the ranking of schemes: the best, and the precision."""
    sentences = [
        *(_best_sentence(one, names) for one in rankings if one.has_verdicts),
        _precision_sentence(selection),
    ]
    return [sentence[0].upper() + sentence[1:] for sentence in sentences if sentence]


def causes(selection: Selection, times: Breakdown, names: Mapping[str, str]) -> list[str]:
    """Return sentences about queueing delay and loss, and with ``times`` about the largest parts of response times."""
    sentences = [
        _range_sentence(selection, NUMBERS["delay"], "mean queueing delay", names),
        _range_sentence(selection, NUMBERS["loss"], "loss of packets", names),
        *_parts_sentences(times, names),
    ]
    return [sentence for sentence in sentences if sentence]


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


def _best_sentence(one: Ranking, names: Mapping[str, str]) -> str:
    """Return a sentence with the best scheme of a ranking, and those that are not distinguishable from it."""
    quantity, _, unit = one.quantity.rpartition(", ")
    best = next(label for label, rank in one.ranks.items() if rank.verdict == BEST)
    similar = [names[label] for label, rank in one.ranks.items() if rank.verdict == SIMILAR]
    ties = f", and is not distinguishable from that under {_join_words(_shorten(similar), 'and')}" if similar else ""
    return f"the {quantity} is shortest under {names[best]}, {one.ranks[best].mean} {unit}{ties}."


def _range_sentence(selection: Selection, number: Number, quantity: str, names: Mapping[str, str]) -> str:
    """Return a sentence about the lowest and the highest value of a number in each direction."""
    by_place = []
    for position, intervals in downsample.intervals(selection, number).items():
        values = [
            (frame["mean"].item(), label) for label, frame in intervals.items() if frame.height and label != BASELINE
        ]
        if not values:
            continue
        (low, lowest), (high, highest) = min(values, key=itemgetter(0)), max(values, key=itemgetter(0))
        text = f"{_short(low)} {number.unit}"
        if (highest_text := f"{_short(high)} {number.unit}") != text:
            text = f"from {text} ({names[lowest]}) to {highest_text} ({names[highest]})"
        by_place.append(f"{text} {position}".rstrip())
    return f"The {quantity} is {_join_words(by_place, 'and')}." if by_place else ""


def _parts_sentences(times: Breakdown, names: Mapping[str, str]) -> Iterator[str]:
    """Yield for each scheme the largest parts of the mean response time, beside those without congestion."""
    for label, frame in breakdown.means(times).items() if times else ():
        parts = frame.filter(band="mean").sort("ms", descending=True)
        whole = parts["ms"].sum()
        largest = [
            f"{PARTS[part]} {ms:,.0f} ms ({100 * ms / whole:.0f} %)"
            for part, ms in parts.select("part", "ms").head(_MAX_PARTS).iter_rows()
        ]
        wait = breakdown.wait_of(times).singular
        yield f"Under {names[label]} a mean {wait} takes {whole:,.0f} ms, of which {_join_words(largest, 'and')}."


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.01 or not value else "less than 0.01"


def _precision_sentence(selection: Selection) -> str:
    seeds = max(len(results) for results in selection.by_label.values())
    if seeds < MIN_SEEDS:
        subject = "One seed is" if seeds == 1 else f"{seeds} seeds are"
        return f"{subject} too few to distinguish schemes or to give intervals: run at least {MIN_SEEDS}, better 5."
    pairs = " Intervals of differences are simultaneous for all schemes." if selection.has_enough_pairs else ""
    return f"The brackets are 95 % intervals over {seeds} seeds (Student's t).{pairs}"


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
