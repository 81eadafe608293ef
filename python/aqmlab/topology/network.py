"""The topology of an experiment in words: links in series, and the senders with their paths."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from aqmlab._core import Link, Resolved
from aqmlab.spec import directions, schema, schemes
from aqmlab.spec.capacity import impairments, rates
from aqmlab.spec.experiment import Experiment
from aqmlab.traces.capacity import differ, mean_mbps

T = TypeVar("T")

_DEFAULTED = ("start", "spread", "request", "jitter")
"""Keys of sources that are shown only if they differ from their defaults."""

_PERIODS = 192
"""The periods of a drawn capacity: a whole number for each column of a terminal. Ours."""

_SEED = 1
"""The seed of the drawn capacities: the first of a run."""

_MOST_DRAWN_S = 600.0
"""The time for which rates that are drawn are computed, which takes as long as the link's part of a run. Ours."""

_OTHER_COLUMNS = ("name", "side", "direction", "path", "rtt", "delay_at")
"""Keys of sources that have a column of their own, or are not shown."""

_DELAY_AT = {"browser": "", "server": ", at the servers", "split": ", half at the servers"}
"""The text about the place of the host delay, if it is not at the browsers."""


@dataclass(frozen=True)
class LinkView:
    """A link between two routers."""

    rates: str
    """The rate, or the rates of both directions."""
    has_two_rates: bool
    varies: bool
    """True if the rate changes, or the capacity is another kind than a bit rate."""
    rate_bps: int
    delay: str
    loss: str
    """The losses on the wire; empty without any."""
    impairments: str
    """The other impairments of the wire; empty without any."""
    device_fifo: int
    queue: str
    """The discipline with its written parameters; of two directions both, if they differ."""
    rate_changes: tuple[tuple[str, str], ...]
    """The changes of the rate: the times and the new rates."""
    rate_changes_s: tuple[float, ...]
    """The times of the changes in seconds."""


@dataclass(frozen=True)
class CapacityView:
    """The capacity of one direction of a link over a run, with the place of its queue."""

    name: str
    """The direction, and the router with the queue that this capacity empties."""
    edges_s: tuple[float, ...]
    mbps: tuple[float, ...]
    """The mean rates between each two of the edges."""


@dataclass(frozen=True)
class SenderView:
    """The web users, or a source."""

    name: str
    kind: str
    description: str
    """A description of its traffic."""
    path: tuple[int, int]
    """The first and the last router of its path."""
    direction: int | None
    """The direction of its data: 0 towards higher router numbers, 1 towards lower ones, ``None`` for both."""
    rtt: str
    """The round-trip time of its hosts, without links."""

    @property
    def label(self) -> str:
        """The name, with the kind if they differ."""
        return self.name if self.name == self.kind else f"{self.name} ({self.kind})"


@dataclass(frozen=True)
class Topology:
    """A network and its senders."""

    links: tuple[LinkView, ...]
    senders: tuple[SenderView, ...]
    directions: directions.Names
    warmup: str
    warmup_s: float
    duration: str
    duration_s: float
    spec: Resolved = field(repr=False, compare=False)

    @cached_property
    def capacities(self) -> tuple[CapacityView, ...]:
        """The capacities that vary, under the first seed; random ones over the first 10 min at most."""
        return tuple(_capacities(self.spec, self.directions))

    @property
    def common_queue(self) -> str | None:
        """The discipline of all links, if it is the same."""
        queues = {link.queue for link in self.links}
        return queues.pop() if len(queues) == 1 else None

    def direction_text(self, sender: SenderView) -> str:
        """Return the name of the direction of a sender's data, in a chain with the routers of its path."""
        name = "both directions" if sender.direction is None else self.directions[sender.direction]
        if len(self.links) == 1:
            return name
        first, last = sender.path if sender.direction != 1 else sender.path[::-1]
        return f"{name}, R{first} {'↔' if sender.direction is None else '→'} R{last}"


def topology(experiment: Experiment, spec: Resolved) -> Topology:
    """Return the topology of an experiment with its resolved spec."""
    queues = [dict.fromkeys(schemes.label(queue, ecn=False) for queue in pair) for pair in experiment.queues]
    return _topology(spec, [*map(list, queues)])


def stored_topology(spec: Resolved) -> Topology:
    """Return the topology of a resolved spec alone, with the names of its disciplines."""
    links = directions.link_tables(json.loads(spec.json))
    return _topology(spec, [list(dict.fromkeys((*link["queue"], *link.get("queue_back", ())))) for link in links])


def _topology(spec: Resolved, queues: Sequence[Sequence[str]]) -> Topology:
    """Return the topology of a resolved spec with the distinct disciplines of each link."""
    resolved = json.loads(spec.json)
    sides = resolved.get("sides")
    tables = directions.link_tables(resolved)
    full_path = (1, len(tables) + 1)
    protocol, users = resolved["protocol"], resolved["users"]
    rtt = _rtt_table(users["rtt"])
    interface = resolved["hosts"]["rate"]
    senders = [_source(source, full_path, rtt, interface) for source in resolved.get("sources", ())]
    if users["per_side"] > 0:
        senders.insert(0, _users(users, sides, full_path, rtt))
    return Topology(
        links=tuple(map(_link, tables, spec.links, queues)),
        senders=tuple(senders),
        directions=directions.names(sides),
        warmup=protocol["warmup"],
        warmup_s=spec.warmup_s,
        duration=protocol["duration"],
        duration_s=spec.duration_s,
        spec=spec,
    )


def rows(items: Sequence[T], spans: Iterable[tuple[int, int]]) -> list[list[T]]:
    """Distribute items with spans of routers over as few rows as possible, without overlaps.

    Parameters
    ----------
    items
        The items.
    spans
        The first and the last router of each item.
    """
    packed_rows: list[tuple[int, list[T]]] = []
    for item, (start, end) in sorted(zip(items, spans, strict=True), key=lambda pair: pair[1][0]):
        for index, (free_at, row) in enumerate(packed_rows):
            if free_at <= start:
                packed_rows[index] = (end, [*row, item])
                break
        else:
            packed_rows.append((end, [item]))
    return [row for _, row in packed_rows]


def _capacities(spec: Resolved, names: directions.Names) -> Iterator[CapacityView]:
    """Yield the capacity of each direction of a link whose rate varies over a run, under the first seed."""
    end_s = spec.warmup_s + spec.duration_s
    for number, link in enumerate(spec.links, start=1):
        edges = np.linspace(0, min(end_s, _MOST_DRAWN_S) if link.is_random else end_s, _PERIODS + 1)
        for direction, router in ((0, number), (1, number + 1)) if link.varies else ():
            mbps = mean_mbps(link, direction, _SEED, edges)
            if differ(mbps):
                place = directions.place(number, names[direction], in_chain=len(spec.links) > 1)
                yield CapacityView(f"{place}, queue at R{router}", tuple(edges.tolist()), tuple(mbps.tolist()))


def _link(link: Mapping[str, Any], numbers: Link, queues: Sequence[str]) -> LinkView:
    return LinkView(
        rates=rates.text(link["rate"]),
        has_two_rates=rates.common(link["rate"]) is None,
        varies=numbers.varies,
        rate_bps=numbers.rate_bps,
        delay=link["delay"],
        loss=impairments.loss_text(link["loss"]) if "loss" in link else "",
        impairments=impairments.text(link),
        device_fifo=link["device_fifo"],
        # Spaces after commas allow line breaks.
        queue=schemes.DIRECTION_SEPARATOR.join(queues).replace(",", ", "),
        rate_changes=tuple((change["at"], rates.text(change["rate"])) for change in link.get("rate_changes", ())),
        rate_changes_s=tuple(at for at, _ in numbers.rate_changes),
    )


def _users(users: Mapping[str, Any], sides: Sequence[str] | None, full_path: tuple[int, int], rtt: str) -> SenderView:
    is_on_one = users.get("sides", 2) == 1
    place = f"at {directions.side(0, sides)}" if is_on_one else "on each side"
    return SenderView(
        name="web users",
        kind="web users",
        description=f"{users['per_side']:,} {place}, {users['workload']['name']}",
        path=_path(users, full_path),
        direction=1 if is_on_one else None,
        rtt=rtt + _DELAY_AT[users["delay_at"]],
    )


def _source(source: Mapping[str, Any], full_path: tuple[int, int], users_rtt: str, interface: str) -> SenderView:
    ((kind, parameters),) = source.items()
    defaults = {
        **{key: schema.source(kind)[key].get("default") for key in _DEFAULTED if key in parameters},
        "interface": interface,
    }
    shown_parameters = {
        key: value for key, value in parameters.items() if key not in _OTHER_COLUMNS and defaults.get(key) != value
    }
    if kind == "datagrams":
        rtt = ""
    elif "rtt" in parameters and isinstance(parameters["rtt"], Mapping):
        rtt = _rtt(parameters["rtt"])
    else:
        rtt = "its file's" if "rtt" in parameters or "rtt_ms" in parameters else users_rtt
    return SenderView(
        name=parameters.get("name") or kind,
        kind=kind.replace("_", " "),
        description=", ".join(_text(key, value) for key, value in shown_parameters.items()),
        path=_path(parameters, full_path),
        direction=_direction(kind, parameters),
        rtt=rtt + _DELAY_AT[parameters.get("delay_at", "browser")],
    )


def _path(parameters: Mapping[str, Any], full_path: tuple[int, int]) -> tuple[int, int]:
    first, last = parameters.get("path", full_path)
    return first, last


def _direction(kind: str, parameters: Mapping[str, Any]) -> int | None:
    """Return the direction of a source's data, which is opposite to that of its requests."""
    if kind == "transfers":
        sides = [side for side, rate in enumerate(parameters["rate_per_second"]) if rate > 0]
        return 1 - sides[0] if len(sides) == 1 else None
    if "side" not in parameters or isinstance(parameters["side"], list):
        return None
    if kind in ("call", "video_call", "game"):
        return None
    sends = kind == "datagrams" or parameters.get("direction") == "upload"
    return int(parameters["side"] if sends else 1 - parameters["side"])


def _text(key: str, value: Any) -> str:
    if key == "rate_per_second":
        rates = [rate for rate in (value if isinstance(value, list) else [value]) if rate > 0]
        return f"{' and '.join(map(_value_text, rates))} a second"
    if key in ("flows", "users"):
        return f"{value:,} {key if value != 1 else key.removesuffix('s')}"
    return f"{key.replace('_', ' ')} {_value_text(value)}"


def _value_text(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_value_text(item)}".removeprefix("fixed ") for key, item in value.items())
    if isinstance(value, list):
        return "/".join(map(_value_text, value)) if len(value) <= 2 else f"({len(value):,} values)"
    if isinstance(value, str) and len(value) > 40:
        return f"({len(value.splitlines()):,} lines)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rtt(rtt: Mapping[str, Any]) -> str:
    ((form, value),) = rtt.items()
    if form == "range":
        return f"{value['min']} to {value['max']}"
    return str(value) if form == "fixed" else _rtt_table(value)


def _rtt_table(table: Mapping[str, Any]) -> str:
    ((form, value),) = table["distribution"].items()
    if form == "uniform_ms":
        return f"{value['min']} to {value['max']} ms"
    return f"{value[0][1]:g} to {value[-1][1]:g} ms, from a table"
