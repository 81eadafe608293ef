"""What a run measures, and the one parser of the names by which people ask for a number of it.

A name says which number, and before it whose, and after it in which direction: ``loss``, ``delay p99 forward``,
``game one-way p99``, ``upload goodput``, ``L4S delay p99``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from aqmlab._core import SpecError
from aqmlab.disciplines.catalogue import disciplines, nearest
from aqmlab.results.traffic import USERS_NAME, everybody, labels

MEASURES = (
    "loss_percent",
    "mark_percent",
    "retransmit_percent",
    "completed_requests",
    "aborted_requests",
    "throughput_mbps",
    "utilisation",
    "queue_packets_mean",
    "queue_packets_p99",
    "queue_delay_ms",
    "packet_bytes_mean",
    "response_time_ms",
    "fraction_within_500ms",
    "bottleneck_packets",
)
"""What a run measures, in the order it is reported. None where there was nothing to measure: no packet, no request."""

PARTS = ("classes", "directions", "users", "sources")
"""What it measures of a part of the traffic: of each class of packets that the queue treats apart, of each direction of
each link, of the web users where there are others, of each source."""

COSTS = ("wall_s", "cpu_s", "x_real_time")
"""What a run took."""


def at(record: Any, path: Sequence[str | int]) -> float | None:
    """Return the number that stands at a place of a record; ``None`` where the way to it ends in nothing.

    Examples
    --------
    >>> at({"queue_delay_ms": {"mean": 3}, "users": None}, ("queue_delay_ms", "mean"))
    3.0
    >>> at({"queue_delay_ms": {"mean": 3}, "users": None}, ("users", "loss_percent"))
    """
    for step in path:
        if record is None or (isinstance(step, int) and step >= len(record)):
            return None
        record = record[step]
    return None if record is None else float(record)


class Number(NamedTuple):
    """A single number of a run."""

    name: str
    """How people ask for it."""
    unit: str
    path: tuple[str | int, ...]
    """Where it stands in a record or a summary, or in what these say of a direction, a source or a class."""
    source: str | None = None
    """The source, or the web users, whose number it is."""
    of_class: str | None = None
    """The class of packets whose number it is."""
    direction: int | None = None
    """The place of its direction among those of all links."""

    def read(self, record: Mapping[str, Any]) -> float | None:
        """Return the number in a record or a summary; ``None`` where there was nothing to measure."""
        if self.source is not None:
            return at(everybody(record).get(self.source), self.path)
        within = record if self.direction is None else _place(record["directions"], self.direction)
        if within is not None and self.of_class is not None:
            within = next((each for each in within["classes"] if each["name"] == self.of_class), None)
        return at(within, self.path)

    @property
    def most(self) -> float:
        """The largest value that is possible."""
        return {"%": 100.0, "of 1": 1.0}.get(self.unit, math.inf)


def _delays(path: Sequence[str | int]) -> dict[str, Number]:
    names = {"delay": "mean", "delay p50": "p50", "delay p99": "p99", "delay p99.9": "p999"}
    return {name: Number(name, "ms", (*path, of)) for name, of in names.items()}


_TIMES = {name: Number(name, "ms", ("response_time_ms", name)) for name in ("mean", "p50", "p90", "p95", "p99")}

_OF_LINK = {
    **_delays(["queue_delay_ms"]),
    "loss": Number("loss", "%", ("loss_percent",)),
    "marks": Number("marks", "%", ("mark_percent",)),
    "throughput": Number("throughput", "Mbit/s", ("throughput_mbps",)),
    "utilisation": Number("utilisation", "of 1", ("utilisation",)),
}

NUMBERS: Mapping[str, Number] = {
    **_TIMES,
    **_OF_LINK,
    "completed": Number("completed", "requests", ("completed_requests",)),
    "within 500 ms": Number("within 500 ms", "of 1", ("fraction_within_500ms",)),
}
"""The numbers of a whole run. ``mean`` and those from ``p50`` to ``p99`` are of response times, delays of queues."""

OF_TRAFFIC: Mapping[str, Number] = {
    "goodput": Number("goodput", "Mbit/s", ("goodput_mbps",)),
    "loss": Number("loss", "%", ("loss_percent",)),
    "completed": Number("completed", "requests", ("completed",)),
    **_TIMES,
    "one-way": Number("one-way", "ms", ("datagrams", "delay_ms_mean")),
    "one-way p50": Number("one-way p50", "ms", ("datagrams", "delay_ms_p50")),
    "one-way p99": Number("one-way p99", "ms", ("datagrams", "delay_ms_p99")),
    "one-way p99.9": Number("one-way p99.9", "ms", ("datagrams", "delay_ms_p999")),
    "jitter": Number("jitter", "ms", ("datagrams", "delay_ms_sd")),
    **_delays(["queue_delay_ms"]),
}
"""The numbers of a source or of the web users: ``one-way`` is the delay of datagrams from end to end, ``jitter`` its
standard deviation, ``delay`` that of all packets in the queues."""


@dataclass(frozen=True)
class Parts:
    """The parts of the traffic that have numbers of their own, by name."""

    traffic: tuple[str, ...]
    """The web users and the sources."""
    classes: tuple[str, ...]
    directions: tuple[str, ...]
    """Those of each link, one after the other."""

    @classmethod
    def of(cls, specs: Iterable[Mapping[str, Any]]) -> Parts:
        """Return the parts of all runs of these resolved specs."""
        each = [_parts(spec) for spec in specs]
        return cls(*(tuple(dict.fromkeys(chain(*of))) for of in zip(*each, strict=True)))

    def numbers(self) -> dict[str, Number]:
        """Return all numbers by name."""
        found = dict(NUMBERS)
        for place, direction in enumerate(self.directions):
            for each in _OF_LINK.values():
                name = f"{each.name} {direction}"
                found.setdefault(name, each._replace(name=name, direction=place))
        for source in self.traffic:
            for each in OF_TRAFFIC.values():
                name = f"{source} {each.name}"
                found.setdefault(name, each._replace(name=name, source=source))
            for way, direction in enumerate(self.directions if len(self.directions) == _WAYS else ()):
                for each in _delays(["queue_delay_ms_each_way", way]).values():
                    name = f"{source} {each.name} {direction}"
                    found.setdefault(name, each._replace(name=name, source=source))
        for of_class in self.classes:
            for each in _delays(["queue_delay_ms"]).values():
                for place, direction in ((None, ""), *enumerate(self.directions)):
                    name = f"{of_class} {each.name} {direction}".rstrip()
                    found.setdefault(name, each._replace(name=name, of_class=of_class, direction=place))
        return found

    def find(self, text: str, where: str) -> Number:
        """Return the number of this name.

        Parameters
        ----------
        text
            Such as ``"game delay p99 home→internet"``; the arrow may be typed as ``->``.
        where
            What the error message names as its place.

        Raises
        ------
        SpecError
            When there is no such number; the message lists what there is.

        Examples
        --------
        >>> Parts(("game",), (), ("forward", "reverse")).find("game delay p99 forward", "until").path
        ('queue_delay_ms_each_way', 0, 'p99')
        """
        known = self.numbers()
        name = " ".join(text.replace("->", "→").split())
        if name not in known:
            raise SpecError(f"{where}: no number is called {text!r}{nearest(name, known)}; {self._listed()}")
        return known[name]

    def number(self, text: str) -> Number:
        """Return the number of this name, or of a path in a record such as ``response_time_ms.p90``."""
        measure, *steps = text.split(".")
        if measure not in MEASURES:
            return self.find(text, "measure")
        if (measure in _OF_SEVERAL) != (len(steps) == 1) or (steps and steps[0] not in _OF_SEVERAL[measure]):
            several = "; ".join(f"{name}.{of[0]}, and so {', '.join(of[1:])}" for name, of in _OF_SEVERAL.items())
            raise SpecError(f"measure: must be one number of a run, such as {several}, got {text!r}")
        return Number(text, _UNITS.get(measure.rpartition("_")[2], ""), (measure, *steps))

    def _listed(self) -> str:
        """List what there is, in a line."""
        said = [f"there are {', '.join(NUMBERS)}"]
        if self.traffic:
            said.append(f"of {', '.join(self.traffic)} each: {', '.join(OF_TRAFFIC)}")
        if self.classes:
            said.append(f"of class {', '.join(self.classes)} each: {', '.join(_delays([]))}")
        said.append(f"and of {', '.join(self.directions)}, written last: {', '.join(_OF_LINK)}")
        return "; ".join(said)


_OF_SEVERAL = {
    "queue_delay_ms": ("mean", "p50", "p99", "p999"),
    "response_time_ms": ("mean", "p10", "p25", "p50", "p75", "p90", "p95", "p99"),
}
"""The measures that have several numbers."""

_UNITS = {"ms": "ms", "percent": "%", "mbps": "Mbit/s", "utilisation": "of 1", "500ms": "of 1", "requests": "requests"}
"""The unit of a measure by the end of its name."""

_WAYS = 2
"""The directions of one link, which packets of a source have all along a chain as well."""


def _directions(sides: Sequence[str] | None) -> tuple[str, str]:
    return ("forward", "reverse") if sides is None else (f"{sides[0]}→{sides[1]}", f"{sides[1]}→{sides[0]}")


def _place(directions: Sequence[Mapping[str, Any]], place: int) -> Mapping[str, Any] | None:
    return directions[place] if place < len(directions) else None


def _parts(spec: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    links = spec.get("chain") or [spec]
    ways = _directions(spec.get("sides"))
    queues = [queue for link in links for queue in (link.get("queue"), link.get("queue_back")) if queue]
    of_sources = [parameters.get("name", kind) for each in spec.get("sources", ()) for kind, parameters in each.items()]
    has_users = bool(spec["users"].get("per_side"))
    known = disciplines()
    return (
        labels([*([USERS_NAME] if has_users else []), *of_sources]),
        [name for queue in queues for discipline in queue if discipline in known for name in known[discipline].classes],
        [f"link {place} {way}" if len(links) > 1 else way for place in range(1, len(links) + 1) for way in ways],
    )
