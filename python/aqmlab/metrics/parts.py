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
from aqmlab.metrics.numbers import (
    DATAGRAM_NUMBERS,
    DELAYS,
    LINK_NUMBERS,
    NUMBERS,
    PAGES,
    QUALITY_NUMBERS,
    REQUEST_NUMBERS,
    Number,
)
from aqmlab.spec import directions

if TYPE_CHECKING:
    # Commands list the names in their help, which must not wait for the import of the code that reads specs.
    from aqmlab.cells.cell import Cell


_MAX_LISTED = 12
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
    link_directions: tuple[str, ...] = ()
    """The two directions."""
    directions: tuple[str, ...] = ()
    """The directions of each link, in the order of a summary."""
    kinds: tuple[tuple[str, str], ...] = ()
    """The traffic whose kind has numbers of its own, each with its kind."""

    @classmethod
    def from_specs(cls, specs: Iterable[Mapping[str, Any]]) -> Parts:
        """Return the parts of runs with these resolved specs."""
        parts = [_parts(spec) for spec in specs]
        return cls(*(tuple(dict.fromkeys(chain(*names))) for names in zip(*parts, strict=True)))

    @classmethod
    def from_cells(cls, cells: Iterable[Cell]) -> Parts:
        """Return the parts of these cells."""
        return cls.from_specs(cell.resolved for cell in {cell.spec.json: cell for cell in cells}.values())

    @cached_property
    def numbers(self) -> dict[str, Number]:
        """All numbers, by name."""
        numbers = dict(NUMBERS)
        for number in chain(self._direction_numbers(), self._source_numbers(), self._class_numbers()):
            numbers.setdefault(number.name, number)
        return numbers

    def find(self, text: str, argument: str) -> Number:
        """Return the number of this name, or of a path in a record such as ``response_time_ms.p90``.

        Parameters
        ----------
        text
            A name such as ``"game delay p99 home→internet"``; the arrow may be typed as ``->``.
        argument
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
        by_name = {_normal(number_name): number for number_name, number in self.numbers.items()}
        if name in by_name:
            return by_name[name]
        measure, *steps = name.split(".")
        if measure in MEASURES:
            return _record_number(text, measure, steps, argument)
        raise SpecError(f"{argument}: no number is called {text!r}{nearest(name, by_name)}; {self._names_text()}")

    def _direction_numbers(self) -> Iterator[Number]:
        for index, direction in enumerate(self.directions):
            for number in LINK_NUMBERS.values():
                yield number._replace(name=f"{number.name} {direction}", direction=index)

    def _source_numbers(self) -> Iterator[Number]:
        for names, numbers in ((self.requests, REQUEST_NUMBERS), (self.datagrams, DATAGRAM_NUMBERS)):
            for source in names:
                for number in numbers.values():
                    yield number._replace(name=f"{source} {number.name}", source=source)
                for index, direction in enumerate(self.link_directions):
                    for number in DELAYS.values():
                        path = ("queue_delay_ms_each_way", index, *number.path[1:])
                        yield number._replace(name=f"{source} {number.name} {direction}", path=path, source=source)
        for source, kind in self.kinds:
            for number in QUALITY_NUMBERS[kind].values():
                yield number._replace(name=f"{source} {number.name}", source=source)

    def _class_numbers(self) -> Iterator[Number]:
        for class_name in self.classes:
            for number in DELAYS.values():
                yield number._replace(name=f"{class_name} {number.name}", class_name=class_name)
                for index, direction in enumerate(self.directions):
                    name = f"{class_name} {number.name} {direction}"
                    yield number._replace(name=name, class_name=class_name, direction=index)

    def _names_text(self) -> str:
        """List all numbers in one line."""
        sentences = [f"there are {', '.join(NUMBERS)}"]
        for names, numbers in ((self.requests, REQUEST_NUMBERS), (self.datagrams, DATAGRAM_NUMBERS)):
            if names:
                rest = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
                sentences.append(f"after {' or '.join(names[:_MAX_LISTED])}{rest}: {', '.join(numbers)}")
        for kind, numbers in QUALITY_NUMBERS.items():
            if names := tuple(source for source, source_kind in self.kinds if source_kind == kind):
                sentences.append(f"after {' or '.join(names[:_MAX_LISTED])} also {', '.join(numbers)}")
        if self.classes:
            sentences.append(f"after {' or '.join(self.classes)}: {', '.join(DELAYS)}")
        sentences.append(f"before {' or '.join(self.directions)}: {', '.join(LINK_NUMBERS)}")
        return "; ".join(sentences)


def _record_number(text: str, measure: str, steps: Sequence[str], argument: str) -> Number:
    paths = {number.path: number for number in NUMBERS.values()}
    number = paths.get((measure, *steps))
    if number is not None:
        return number._replace(name=".".join(map(str, number.path)))
    names = [".".join(map(str, path)) for path in paths if path[0] == measure and len(path) > 1]
    if names:
        raise SpecError(f"{argument}: {measure} has several numbers, {', '.join(names)}; got {text!r}")
    raise SpecError(f"{argument}: {measure} is one number, got {text!r}")


def _normal(text: str) -> str:
    return directions.canonical(" ".join(text.split()))


def _parts(spec: Mapping[str, Any]) -> tuple[Sequence[Any], ...]:
    link_directions = directions.names(spec.get("sides"))
    links = directions.link_tables(spec)
    queues = [queue for link in links for queue in (link.get("queue"), link.get("queue_back")) if queue]
    sources = [(kind, parameters) for part in spec.get("sources", ()) for kind, parameters in part.items()]
    users: list[tuple[str, Any]] = [(USERS_NAME, spec["users"])] if spec["users"].get("per_side") else []
    users_kind = PAGES if "resources" in spec["users"].get("workload", {}) else USERS_NAME
    names = labels(parameters.get("name", kind) for kind, parameters in (*users, *sources))
    kinds = [*(users_kind for _ in users), *(kind for kind, _ in sources)]
    # The ends of datagrams wait for no answer, so that a resolved source of them has no place of its round-trip time.
    has_connections = ["delay_at" in parameters for _, parameters in (*users, *sources)]
    catalogue = disciplines()
    return (
        [name for name, is_request in zip(names, has_connections, strict=True) if is_request],
        [name for name, is_request in zip(names, has_connections, strict=True) if not is_request],
        [
            name
            for queue in queues
            for discipline in queue
            if discipline in catalogue
            for name in catalogue[discipline].classes
        ],
        link_directions,
        [
            directions.place(link, direction, in_chain=len(links) > 1)
            for link in range(1, len(links) + 1)
            for direction in link_directions
        ],
        [(name, kind) for name, kind in zip(names, kinds, strict=True) if kind in QUALITY_NUMBERS],
    )
