"""The parser of the names of a run's numbers.

A name consists of the owner, if any, the number, and the direction, if any: ``loss``, ``delay p99 forward``, ``game
one-way p99``, ``upload goodput``, ``L4S delay p99 home→internet``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from aqmlab._core import SpecError
from aqmlab.disciplines.catalogue import disciplines, nearest
from aqmlab.metrics.flows import USERS_NAME, labels
from aqmlab.metrics.metrics import MEASURES
from aqmlab.metrics.numbers import DELAYS, NUMBERS, OF_DATAGRAMS, OF_LINK, OF_REQUESTS, Number
from aqmlab.spec import directions

if TYPE_CHECKING:
    # Commands list the names in their help, which must not wait for the import of the code that reads specs.
    from aqmlab.cells.cell import Cell


_DATAGRAMS = "datagrams"
"""The kind of source that sends datagrams."""

_MOST_LISTED = 12
"""The largest number of sources that an error message lists."""


@dataclass(frozen=True)
class Parts:
    """The names of the traffic's parts that have numbers of their own."""

    requests: tuple[str, ...] = ()
    """The web users and the sources of connections."""
    datagrams: tuple[str, ...] = ()
    """The sources of datagrams."""
    classes: tuple[str, ...] = ()
    """The classes of packets that a queue treats separately."""
    ways: tuple[str, ...] = ()
    """The two directions."""
    directions: tuple[str, ...] = ()
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
            for each in OF_LINK.values():
                yield each._replace(name=f"{each.name} {direction}", direction=place)

    def _of_sources(self) -> Iterator[Number]:
        for names, numbers in ((self.requests, OF_REQUESTS), (self.datagrams, OF_DATAGRAMS)):
            for source in names:
                for each in numbers.values():
                    yield each._replace(name=f"{source} {each.name}", source=source)
                for way, direction in enumerate(self.ways):
                    for each in DELAYS.values():
                        path = ("queue_delay_ms_each_way", way, *each.path[1:])
                        yield each._replace(name=f"{source} {each.name} {direction}", path=path, source=source)

    def _of_classes(self) -> Iterator[Number]:
        for of_class in self.classes:
            for each in DELAYS.values():
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
            said.append(f"after {' or '.join(self.classes)}: {', '.join(DELAYS)}")
        said.append(f"before {' or '.join(self.directions)}: {', '.join(OF_LINK)}")
        return "; ".join(said)


def _of_record(text: str, measure: str, steps: Sequence[str], where: str) -> Number:
    paths = {number.path: number for number in NUMBERS.values()}
    number = paths.get((measure, *steps))
    if number is not None:
        return number._replace(name=".".join(map(str, number.path)))
    several = [".".join(map(str, path)) for path in paths if path[0] == measure and len(path) > 1]
    if several:
        raise SpecError(f"{where}: {measure} has several numbers, {', '.join(several)}; got {text!r}")
    raise SpecError(f"{where}: {measure} is one number, got {text!r}")


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
