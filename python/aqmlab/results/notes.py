"""Notes on results: facts that a reader of the tables needs, one function for each note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from aqmlab._core import bits_per_second, seconds, size_in_bytes
from aqmlab.cells.cell import Cell
from aqmlab.metrics.metrics import LIMITS, MEASURES, is_held_by_device, lookup
from aqmlab.spec.schemes import DIRECTION_SEPARATOR, LINK_SEPARATOR
from aqmlab.store.result import Result


def notes(results: Sequence[Result]) -> list[str]:
    """Return the notes on results that are shown together."""
    return [text for note in _NOTES if (text := note(results)) is not None]


def _several_queues(results: Sequence[Result]) -> str | None:
    """Explain labels that name several queues."""
    labels = "\n".join({result.cell.label for result in results})
    forms = []
    if DIRECTION_SEPARATOR in labels:
        forward, reverse = results[0].cell.direction_names
        forms.append(f"a{DIRECTION_SEPARATOR}b names the queue {forward}, then the queue {reverse}")
    if LINK_SEPARATOR in labels:
        forms.append(f"a{LINK_SEPARATOR}b names the queues of link 1, link 2 and so on")
    return f"In labels, {'; '.join(forms)}." if forms else None


def _device_fifo(results: Sequence[Result]) -> str | None:
    """Report a large delay in the device FIFO below the discipline."""
    texts = []
    for label, group in _by_label(results):
        delays = _delays(group)
        direction, delay = max(delays.items(), key=lambda item: item[1]["device_fifo_mean"], default=("", None))
        if delay is not None and is_held_by_device(delay):
            texts.append(f"{label} {delay['device_fifo_mean']:.3g} of {delay['mean']:.3g} ms ({direction})")
    if not texts:
        return None
    fifo = "The device FIFO (link.device_fifo), which no discipline controls,"
    return f"{fifo} holds a tenth of the mean delay or more: {_join_items(texts)}."


def _delays(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    """Return the mean delay and its part in the device FIFO by direction, means over the seeds."""
    delays = {}
    for number, first in enumerate(results[0].summary["directions"]):
        by_seed = [result.summary["directions"][number]["queue_delay_ms"] for result in results]
        if all(delay.get("device_fifo_mean") is not None for delay in by_seed):
            name = results[0].cell.direction_names[first["direction"]]
            parts = ("mean", "device_fifo_mean")
            delays[f"{name}, link {first['link']}" if first["link"] > 1 else name] = {
                part: fmean(delay[part] for delay in by_seed) for part in parts
            }
    return delays


def _same_results(results: Sequence[Result]) -> str | None:
    """Report schemes whose numbers are all equal."""
    groups: dict[str, list[str]] = {}
    for label, group in _by_label(results):
        if group[0].cell.signal != "none":
            summaries = [{name: result.summary[name] for name in _COMPARED} for result in group]
            groups.setdefault(repr(summaries), []).append(label)
    equal = [" = ".join(_shorten(labels)) for labels in groups.values() if len(labels) > 1]
    if not equal:
        return None
    return f"The same results to the last digit, so that the difference had no effect: {_join_items(equal)}."


def _limits(results: Sequence[Result]) -> str | None:
    """Report the sources that a receive window or a network interface limits instead of the queue."""
    texts = []
    for label, group in _by_label(results):
        if group[0].cell.signal == "none":
            continue
        for number, source in enumerate(group[0].summary["sources"]):
            for limit, key in _HOST_LIMITS.items():
                path = ("sources", number, "limited_by_percent", limit)
                shares = [share for result in group if (share := lookup(result.summary, path)) is not None]
                if shares and fmean(shares) > _SHARE_PERCENT:
                    texts.append(f"{source['name']} by {LIMITS[limit]} ({key}) {fmean(shares):.0f} % under {label}")
    if not texts:
        return None
    return f"Hosts, not the queue, limit these sources for more than a tenth of their time: {_join_items(texts)}."


def _idle_shapers(results: Sequence[Result]) -> str | None:
    """Report shapers of CAKE that are not slower than their link."""
    texts = []
    for label, group in _by_label(results):
        for queue, bits in _queues(group[0].cell):
            bandwidth = queue.get("cake", {}).get("bandwidth", "unlimited")
            if bandwidth != "unlimited" and bits_per_second(bandwidth) >= bits:
                texts.append(f"{label}: {bandwidth} before a link of {bits / 1e6:.4g} Mbit/s")
    if not texts:
        return None
    shapers = _join_items(_shorten(list(dict.fromkeys(texts))))
    return f"A shaper that is not slower than its link has no effect: {shapers}."


def _short_steps(results: Sequence[Result]) -> str | None:
    """Report steps of DualPI2 that a full packet takes longer than, if flows use L4S."""
    texts = []
    for label, group in _by_label(results):
        tcp = group[0].cell.resolved["tcp"]
        if all(stack["congestion"] != "prague" for stack in (tcp, *tcp.get("mix", ()))):
            continue
        texts += [f"{label}: {step}" for step in short_steps(group[0].cell)]
    if not texts:
        return None
    steps = _join_items(_shorten(list(dict.fromkeys(texts))))
    return f"{SHORT_STEP}: {steps}."


def short_steps(cell: Cell) -> list[str]:
    """Return the times of a full packet that are longer than the step of a DualPI2 queue of a cell, with the steps."""
    found = []
    for queue, bits in _queues(cell):
        dualpi2 = queue.get("dualpi2", {})
        if dualpi2.get("native") != "step" or dualpi2["min_left"] > 0:
            continue
        packet_s = 8 * size_in_bytes(dualpi2["mtu"]) / bits
        if packet_s > seconds(dualpi2["step"]):
            found.append(f"{1000 * packet_s:.3g} ms, step {dualpi2['step']}")
    return list(dict.fromkeys(found))


SHORT_STEP = (
    "A full packet takes longer than the step of DualPI2, so that every L4S packet that waits for a full one is marked,"
    " and L4S flows starve; min_left = 2 prevents it"
)
"""The consequence of a short step, to which the cases are added."""


def long_fifos(cell: Cell) -> list[str]:
    """Return the device FIFOs of a cell that full packets take long to leave, with these times."""
    written = cell.resolved["link"]
    found = []
    for link, table in zip(cell.links, written if isinstance(written, list) else [written], strict=True):
        for bits in (link.rate_bps, link.rate_back_bps):
            wait_ms = 8000 * link.device_fifo * size_in_bytes(table["mtu"]) / bits
            if wait_ms >= LONG_FIFO_MS:
                found.append(f"{link.device_fifo:,} packets, {wait_ms:.3g} ms at {bits / 1e6:.4g} Mbit/s")
    return list(dict.fromkeys(found))


LONG_FIFO_MS = 5.0
"""The time of a full device FIFO that is long: CoDel's target; ours."""

LONG_FIFO = (
    "The device FIFO (link.device_fifo) is below the queue discipline, which controls only packets that wait for a full"
    " FIFO: while it holds all packets, disciplines cannot differ. A full one holds"
)
"""The consequence of a long device FIFO, to which the cases are added."""


def _queues(cell: Cell) -> Iterable[tuple[Mapping[str, Any], int]]:
    """Yield each queue of a cell with the rate of its link in bit/s."""
    written = cell.resolved["link"]
    hops = written if isinstance(written, list) else [cell.resolved]
    for link, hop in zip(cell.links, hops, strict=True):
        queues = (hop.get("queue"), hop.get("queue_back", hop.get("queue")))
        for queue, bits in zip(queues, (link.rate_bps, link.rate_back_bps), strict=True):
            yield queue or {}, bits


def _by_label(results: Sequence[Result]) -> Iterable[tuple[str, list[Result]]]:
    return ((label, list(group)) for label, group in groupby(results, key=lambda result: result.cell.label))


def _shorten(labels: Sequence[str]) -> list[str]:
    rest = len(labels) - _MAX_NAMES
    return [*labels[:_MAX_NAMES], *([f"{rest} more"] if rest > 0 else [])]


def _join_items(items: Sequence[str]) -> str:
    """List the first items and count the others."""
    rest = len(items) - _MAX_NAMES
    return "; ".join([*items[:_MAX_NAMES], *([f"and {rest} more"] if rest > 0 else [])])


_HOST_LIMITS = {"receive_window": "tcp.receive_window", "send_buffer": "tcp.send_buffer", "interface": "interface"}
"""The limits that hosts set, with their keys in a spec."""

_SHARE_PERCENT = 10.0
"""The share of a source's time from which a note reports a limit."""

_COMPARED = (*MEASURES, "counters", "directions", "users", "sources")
"""The columns of a summary about packets and requests."""

_MAX_NAMES = 4
"""The largest number of schemes in a note."""

_NOTES: tuple[Callable[[Sequence[Result]], str | None], ...] = (
    _several_queues,
    _device_fifo,
    _idle_shapers,
    _short_steps,
    _limits,
    _same_results,
)
