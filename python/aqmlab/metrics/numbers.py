"""The parser of the names of a run's numbers.

A name consists of the owner, if any, the number, and the direction, if any: ``loss``, ``delay p99 forward``, ``game
one-way p99``, ``upload goodput``, ``L4S delay p99 home→internet``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from aqmlab._core import SpecError
from aqmlab.disciplines.catalogue import disciplines, nearest
from aqmlab.metrics.flows import USERS_NAME, by_class, labels
from aqmlab.metrics.metrics import MEASURES, lookup
from aqmlab.spec import directions

if TYPE_CHECKING:
    # Commands list the names in their help, which must not wait for the import of the code that reads specs.
    from aqmlab.cells.cell import Cell


class Number(NamedTuple):
    """A single number of a run."""

    name: str
    """The name that a person types."""
    unit: str
    path: tuple[str | int, ...]
    """The path in a record or a summary, or in their part about a direction, a source or a class."""
    source: str | None = None
    """The source or the web users that own it."""
    of_class: str | None = None
    """The class of packets that it describes."""
    direction: int | None = None
    """The index of its direction among those of all links."""

    def read(self, record: Mapping[str, Any]) -> float | None:
        """Return the number in a record or a summary; ``None`` if there was nothing to measure."""
        if self.source is not None:
            return lookup(by_class(record).get(self.source), self.path)
        within: Any = record
        if self.direction is not None:
            every = record["directions"]
            within = every[self.direction] if self.direction < len(every) else None
        if within is not None and self.of_class is not None:
            within = next((each for each in within["classes"] if each["name"] == self.of_class), None)
        return lookup(within, self.path)

    @property
    def most(self) -> float:
        """The largest possible value."""
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
"""The numbers of a whole run. ``mean`` and ``p50`` to ``p99`` describe response times, ``delay`` the queues."""

_OF_PACKETS = {
    "goodput": Number("goodput", "Mbit/s", ("goodput_mbps",)),
    "loss": Number("loss", "%", ("loss_percent",)),
    **_delays(["queue_delay_ms"]),
}

OF_REQUESTS: Mapping[str, Number] = {
    **_OF_PACKETS,
    "completed": Number("completed", "requests", ("completed",)),
    **_TIMES,
}
"""The numbers of a source of connections or of the web users; ``delay`` is the queueing delay of its packets."""

OF_DATAGRAMS: Mapping[str, Number] = {
    **_OF_PACKETS,
    **{
        name: Number(name, "ms", ("datagrams", f"delay_ms_{of}"))
        for name, of in {
            "one-way": "mean",
            "one-way p50": "p50",
            "one-way p99": "p99",
            "one-way p99.9": "p999",
            "one-way max": "max",
            "jitter": "sd",
        }.items()
    },
}
"""The numbers of a source of datagrams: ``one-way`` is the delay from end to end, ``jitter`` its standard deviation."""

_DATAGRAMS = "datagrams"
"""The kind of source that sends datagrams."""

_MOST_LISTED = 12
"""The largest number of sources that an error message lists."""


@dataclass(frozen=True)
class Parts:
    """The names of the traffic's parts that have numbers of their own."""

    requests: tuple[str, ...]
    """The web users and the sources of connections."""
    datagrams: tuple[str, ...]
    """The sources of datagrams."""
    classes: tuple[str, ...]
    """The classes of packets that a queue treats separately."""
    ways: tuple[str, ...]
    """The two directions."""
    directions: tuple[str, ...]
    """The directions of each link, in the order of a summary."""

    @classmethod
    def of(cls, specs: Iterable[Mapping[str, Any]]) -> Parts:
        """Return the parts of runs with these resolved specs."""
        each = [_parts(spec) for spec in specs]
        return cls(*(tuple(dict.fromkeys(chain(*of))) for of in zip(*each, strict=True)))

    @classmethod
    def of_cells(cls, cells: Iterable[Cell]) -> Parts:
        """Return the parts of these cells."""
        return cls.of(each.resolved for each in {cell.spec.json: cell for cell in cells}.values())

    @cached_property
    def numbers(self) -> dict[str, Number]:
        """All numbers, by name."""
        found = dict(NUMBERS)
        for number in chain(self._of_directions(), self._of_sources(), self._of_classes()):
            found.setdefault(number.name, number)
        return found

    def find(self, text: str, where: str) -> Number:
        """Return the number of this name, or of a path in a record such as ``response_time_ms.p90``.

        Parameters
        ----------
        text
            A name such as ``"game delay p99 home→internet"``; the arrow may be typed as ``->``.
        where
            The beginning of the error message.

        Raises
        ------
        SpecError
            When there is no such number; the message lists the numbers.

        Examples
        --------
        >>> parts = Parts((), ("game",), (), ("forward", "reverse"), ("forward", "reverse"))
        >>> parts.find("game delay p99 forward", "until").path
        ('queue_delay_ms_each_way', 0, 'p99')
        """
        name = _normal(text)
        by_name = {_normal(each): number for each, number in self.numbers.items()}
        if name in by_name:
            return by_name[name]
        measure, *steps = name.split(".")
        if measure in MEASURES:
            return _of_record(text, measure, steps, where)
        raise SpecError(f"{where}: no number is called {text!r}{nearest(name, by_name)}; {self._listed()}")

    def _of_directions(self) -> Iterator[Number]:
        for place, direction in enumerate(self.directions):
            for each in _OF_LINK.values():
                yield each._replace(name=f"{each.name} {direction}", direction=place)

    def _of_sources(self) -> Iterator[Number]:
        for names, numbers in ((self.requests, OF_REQUESTS), (self.datagrams, OF_DATAGRAMS)):
            for source in names:
                for each in numbers.values():
                    yield each._replace(name=f"{source} {each.name}", source=source)
                for way, direction in enumerate(self.ways):
                    for each in _delays(["queue_delay_ms_each_way", way]).values():
                        yield each._replace(name=f"{source} {each.name} {direction}", source=source)

    def _of_classes(self) -> Iterator[Number]:
        for of_class in self.classes:
            for each in _delays(["queue_delay_ms"]).values():
                yield each._replace(name=f"{of_class} {each.name}", of_class=of_class)
                for place, direction in enumerate(self.directions):
                    name = f"{of_class} {each.name} {direction}"
                    yield each._replace(name=name, of_class=of_class, direction=place)

    def _listed(self) -> str:
        """List all numbers in one line."""
        said = [f"there are {', '.join(NUMBERS)}"]
        for names, numbers in ((self.requests, OF_REQUESTS), (self.datagrams, OF_DATAGRAMS)):
            if names:
                more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
                said.append(f"after {' or '.join(names[:_MOST_LISTED])}{more}: {', '.join(numbers)}")
        if self.classes:
            said.append(f"after {' or '.join(self.classes)}: {', '.join(_delays([]))}")
        said.append(f"before {' or '.join(self.directions)}: {', '.join(_OF_LINK)}")
        return "; ".join(said)


_OF_SEVERAL = {
    "queue_delay_ms": ("mean", "p50", "p99", "p999"),
    "response_time_ms": ("mean", "p10", "p25", "p50", "p75", "p90", "p95", "p99"),
}
"""The measures that consist of several numbers."""

_UNITS = {
    "queue_packets_mean": "packets",
    "queue_packets_p99": "packets",
    "packet_bytes_mean": "B",
    "bottleneck_packets": "packets",
    "completed_requests": "requests",
    "aborted_requests": "requests",
    "throughput_mbps": "Mbit/s",
    "utilisation": "of 1",
    "fraction_within_500ms": "of 1",
    "loss_percent": "%",
    "mark_percent": "%",
    "retransmit_percent": "%",
}
"""The units of the measures that are one number; times are in ms."""


def _of_record(text: str, measure: str, steps: Sequence[str], where: str) -> Number:
    several = _OF_SEVERAL.get(measure)
    if several is None and steps:
        raise SpecError(f"{where}: {measure} is one number, got {text!r}")
    if several is not None and (len(steps) != 1 or steps[0] not in several):
        accepted = ", ".join(f"{measure}.{each}" for each in several)
        raise SpecError(f"{where}: {measure} has several numbers, {accepted}; got {text!r}")
    return Number(".".join((measure, *steps)), _UNITS.get(measure, "ms"), (measure, *steps))


def _normal(text: str) -> str:
    return directions.canonical(" ".join(text.split()))


def _parts(spec: Mapping[str, Any]) -> tuple[list[str], list[str], list[str], Sequence[str], list[str]]:
    ways = directions.names(spec.get("sides"))
    links = spec.get("chain") or [spec]
    queues = [queue for each in (spec, *links) for queue in (each.get("queue"), each.get("queue_back")) if queue]
    of_sources = [(kind, parameters) for each in spec.get("sources", ()) for kind, parameters in each.items()]
    users: list[tuple[str, Any]] = [(USERS_NAME, {})] if spec["users"].get("per_side") else []
    names = labels(parameters.get("name", kind) for kind, parameters in (*users, *of_sources))
    kinds = [kind for kind, _ in (*users, *of_sources)]
    known = disciplines()
    return (
        [name for name, kind in zip(names, kinds, strict=True) if kind != _DATAGRAMS],
        [name for name, kind in zip(names, kinds, strict=True) if kind == _DATAGRAMS],
        [name for queue in queues for discipline in queue if discipline in known for name in known[discipline].classes],
        ways,
        [directions.place(link, way, in_chain=len(links) > 1) for link in range(1, len(links) + 1) for way in ways],
    )
