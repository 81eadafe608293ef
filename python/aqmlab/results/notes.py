"""Notes on results: facts that a reader of the tables needs, one function for each note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from statistics import fmean

from aqmlab.metrics.metrics import LIMITS, MEASURES, is_held_by_device, lookup
from aqmlab.spec.schemes import BETWEEN_DIRECTIONS, BETWEEN_LINKS
from aqmlab.store.result import Result


def notes(results: Sequence[Result]) -> list[str]:
    """Return the notes on results that are shown together."""
    return [text for note in _NOTES if (text := note(results)) is not None]


def _several_queues(results: Sequence[Result]) -> str | None:
    """Explain labels that name several queues."""
    labels = "\n".join({result.cell.label for result in results})
    forms = []
    if BETWEEN_DIRECTIONS in labels:
        forward, reverse = results[0].cell.direction_names
        forms.append(f"a{BETWEEN_DIRECTIONS}b names the queue {forward}, then the queue {reverse}")
    if BETWEEN_LINKS in labels:
        forms.append(f"a{BETWEEN_LINKS}b names the queues of link 1, link 2 and so on")
    return f"In labels, {'; '.join(forms)}." if forms else None


def _device_fifo(results: Sequence[Result]) -> str | None:
    """Report a large delay in the device FIFO below the discipline."""
    held = []
    for label, same in _by_label(results):
        delays = _delays(same)
        direction, delay = max(delays.items(), key=lambda each: each[1]["device_fifo_mean"], default=("", None))
        if delay is not None and is_held_by_device(delay):
            held.append(f"{label} {delay['device_fifo_mean']:.3g} of {delay['mean']:.3g} ms ({direction})")
    if not held:
        return None
    fifo = "The device FIFO (link.device_fifo), which no discipline controls,"
    return f"{fifo} holds a tenth of the mean delay or more: {_few(held)}."


def _delays(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    """Return the mean delay and its part in the device FIFO by direction, means over the seeds."""
    delays = {}
    for number, of_first in enumerate(results[0].summary["directions"]):
        each = [result.summary["directions"][number]["queue_delay_ms"] for result in results]
        if all(delay.get("device_fifo_mean") is not None for delay in each):
            name = results[0].cell.direction_names[of_first["direction"]]
            parts = ("mean", "device_fifo_mean")
            delays[f"{name}, link {of_first['link']}" if of_first["link"] > 1 else name] = {
                part: fmean(delay[part] for delay in each) for part in parts
            }
    return delays


def _same_results(results: Sequence[Result]) -> str | None:
    """Report schemes whose numbers are all equal."""
    groups: dict[str, list[str]] = {}
    for label, same in _by_label(results):
        if same[0].cell.signal != "none":
            summaries = [{name: result.summary[name] for name in _MEASURED} for result in same]
            groups.setdefault(repr(summaries), []).append(label)
    alike = [" = ".join(_few_of(labels)) for labels in groups.values() if len(labels) > 1]
    if not alike:
        return None
    return f"The same results to the last digit, so that the difference had no effect: {_few(alike)}."


def _limits(results: Sequence[Result]) -> str | None:
    """Report the sources that a receive window or a network interface limits instead of the queue."""
    limited = []
    for label, same in _by_label(results):
        if same[0].cell.signal == "none":
            continue
        for number, source in enumerate(same[0].summary["sources"]):
            for limit, key in _OF_HOSTS.items():
                place = ("sources", number, "limited_by_percent", limit)
                known = [share for result in same if (share := lookup(result.summary, place)) is not None]
                if known and fmean(known) > _SHARE_PERCENT:
                    limited.append(f"{source['name']} by {LIMITS[limit]} ({key}) {fmean(known):.0f} % under {label}")
    if not limited:
        return None
    return f"Hosts, not the queue, limit these sources for more than a tenth of their time: {_few(limited)}."


def _by_label(results: Sequence[Result]) -> Iterable[tuple[str, list[Result]]]:
    return ((label, list(same)) for label, same in groupby(results, key=lambda result: result.cell.label))


def _few_of(labels: Sequence[str]) -> list[str]:
    more = len(labels) - _MOST_NAMED
    return [*labels[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]


def _few(items: Sequence[str]) -> str:
    """List the first items and count the others."""
    more = len(items) - _MOST_NAMED
    return "; ".join([*items[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])


_OF_HOSTS = {"receive_window": "tcp.receive_window", "interface": "interface"}
"""The limits that hosts set, with their keys in a spec."""

_SHARE_PERCENT = 10.0
"""The share of a source's time from which a note reports a limit."""

_MEASURED = (*MEASURES, "counters", "directions", "users", "sources")
"""The columns of a summary about packets and requests."""

_MOST_NAMED = 4
"""The largest number of schemes in a note."""

_NOTES: tuple[Callable[[Sequence[Result]], str | None], ...] = (
    _several_queues,
    _device_fifo,
    _limits,
    _same_results,
)
