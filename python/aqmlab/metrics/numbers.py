"""The numbers of a run that have a name, as the engine declares them.

Each is declared once, with its column in ``crates/sim/src/summary.rs``: label, unit, digits, and the better direction.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from aqmlab._core import schemas
from aqmlab.metrics.flows import by_class
from aqmlab.metrics.metrics import lookup


class Number(NamedTuple):
    """A single number of a run."""

    name: str
    """The name that a person types."""
    unit: str
    path: tuple[str | int, ...]
    """The path in a record or a summary, or in their part about a direction, a source or a class."""
    noun: str = ""
    """The noun that its name implies and its heading has: ``p95`` is of response times."""
    digits: int | None = None
    """Digits after the point; ``None`` for significant ones."""
    significant: int = 3
    """Significant digits, where those after the point are not fixed."""
    better: Literal["lower", "higher"] | None = None
    """The better values, if the number alone decides that."""
    is_brief: bool = False
    """True if it is shown in short lists of numbers."""
    source: str | None = None
    """The source or the web users that own it."""
    class_name: str | None = None
    """The class of packets that it describes."""
    direction: int | None = None
    """The index of its direction among those of all links."""

    def read(self, record: Mapping[str, Any]) -> float | None:
        """Return the number in a record or a summary; ``None`` if there was nothing to measure."""
        if self.source is not None:
            return lookup(by_class(record).get(self.source), self.path)
        part: Any = record
        if self.direction is not None:
            directions = record["directions"]
            part = directions[self.direction] if self.direction < len(directions) else None
        if part is not None and self.class_name is not None:
            part = next(
                (packet_class for packet_class in part["classes"] if packet_class["name"] == self.class_name), None
            )
        return lookup(part, self.path)

    @property
    def upper_bound(self) -> float:
        """The largest possible value."""
        return {"%": 100.0, "of 1": 1.0}.get(self.unit, math.inf)

    @property
    def heading(self) -> str:
        """The heading of its column or the title of its axis: ``loss, %``, ``response p95, ms``."""
        owner = self.source or self.class_name
        name = f"{self.noun} {self.name}" if self.noun and owner is None else self.name
        return f"{name}, {self.unit}" if self.unit else name

    def decimals(self, size: float) -> int:
        """Return the digits after the point of a number of this size.

        Examples
        --------
        >>> NUMBERS["p95"].decimals(264.0), NUMBERS["p95"].decimals(0.52), NUMBERS["loss"].decimals(264.0)
        (0, 3, 2)
        """
        if self.digits is not None:
            return self.digits
        return min(4, max(0, self.significant - 1 - math.floor(math.log10(abs(size))))) if size else 0


_SUMMARY = json.loads(schemas())["summary"]
"""The JSON Schema of a summary, with the labels of its numbers."""


def declared(
    properties: Mapping[str, Any], path: Sequence[str] = (), part: Mapping[str, Any] | None = None
) -> Iterator[Number]:
    """Yield the labelled numbers of an object by its JSON Schema.

    Parameters
    ----------
    properties
        The columns of the object.
    path
        Its place in the record that numbers are read from.
    part
        The column whose value the object is: what it declares holds for all its numbers.
    """
    part = part or {}
    for name, column in properties.items():
        if "label" not in column:
            continue
        if (inner := _properties(column)) is not None:
            yield from declared(inner, [*path, name], column)
            continue
        settings = {**part, **column}
        is_implied = part.get("implied", False)
        words = [column["label"]] if is_implied else [part.get("label", ""), column["label"]]
        yield Number(
            " ".join(filter(None, words)),
            settings["unit"],
            (*path, name),
            noun=part["label"] if is_implied else "",
            digits=settings.get("digits"),
            significant=settings.get("significant", 3),
            better=settings.get("better"),
            is_brief=column.get("brief", False),
        )


def _properties(column: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the columns of the object that a column has, if it has one."""
    for variant in (column, *column.get("anyOf", ())):
        if "$ref" in variant:
            properties: Mapping[str, Any] = _SUMMARY["$defs"][variant["$ref"].rpartition("/")[2]]["properties"]
            return properties
    return None


def _by_name(properties: Mapping[str, Any]) -> dict[str, Number]:
    return {number.name: number for number in declared(properties)}


_IN_DIRECTION = _SUMMARY["$defs"]["DirectionSummary"]["properties"]

_IN_SOURCE = _SUMMARY["$defs"]["SourceSummary"]["properties"]

NUMBERS: Mapping[str, Number] = _by_name(_SUMMARY["properties"])
"""The numbers of a whole run. ``mean`` and those from ``p10`` to ``p99`` are of response times, delays of queues."""

LINK_NUMBERS: Mapping[str, Number] = {
    name: number for name, number in NUMBERS.items() if number.path[0] in _IN_DIRECTION
}
"""Those that each direction of a link has too."""

DELAYS: Mapping[str, Number] = {name: number for name, number in NUMBERS.items() if number.path[0] == "queue_delay_ms"}
"""Those of delays in queues."""

_QUALITIES = {"video": "videos", "call": "calls", "video_call": "video_calls", "game": "games"}
"""The columns with the quality that receivers observe, by kind of source."""

REQUEST_NUMBERS: Mapping[str, Number] = _by_name(
    {name: number for name, number in _IN_SOURCE.items() if name not in ("datagrams", *_QUALITIES.values())}
)
"""The numbers of a source of connections or of the web users; ``delay`` is that of its packets in the queues."""

_PACKET_NUMBERS = ("goodput", "loss", *DELAYS)

DATAGRAM_NUMBERS: Mapping[str, Number] = {
    **{name: REQUEST_NUMBERS[name] for name in _PACKET_NUMBERS},
    **_by_name({"datagrams": _IN_SOURCE["datagrams"]}),
}
"""The numbers of a source of datagrams: ``one-way`` is the delay from end to end, ``jitter`` its standard deviation."""

PAGES = "pages"
"""The kind of web users who load pages, and the column with what they observe."""

QUALITY_NUMBERS: Mapping[str, Mapping[str, Number]] = {
    PAGES: {number.name: number for number in declared(_SUMMARY["$defs"]["PageQuality"]["properties"], (PAGES,))},
    **{kind: _by_name({column: _IN_SOURCE[column]}) for kind, column in _QUALITIES.items()},
}
"""The numbers of the quality that people observe, such as the mean opinion score of calls, by kind of traffic."""
