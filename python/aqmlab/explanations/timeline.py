"""Timelines as text: of a request, with packets without an incident summarized by flight; of a page, its incidents."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aqmlab.ui.counts import pluralize

_ROUTINE = ("written", "complete", "delayed ACK due")
"""Events that are no incidents."""

_FLIGHTS = 6
"""The number of consecutive flights without an incident that get a line each; the others share one line."""


@dataclass(frozen=True)
class Line:
    """A line of the timeline: an event, or several similar ones."""

    at_ms: float
    """The time of its beginning, since the start of the request."""
    until_ms: float
    """The time of its end, such as a packet's arrival or loss."""
    place: str
    event: str
    connection: int = 0
    """The number of the connection of a page."""


@dataclass(frozen=True)
class _Packet:
    """A packet with its departure and its outcome."""

    sender: str
    segment: str
    offset: int | None
    """The number of its first byte, of an acknowledgement those acknowledged, of a packet of QUIC its own.

    None for a handshake, and for data of an earlier request, which are sent again while this one is under way.
    """
    bytes: int
    is_retransmission: bool
    at_ms: float
    until_ms: float | None = None
    outcome: str = "still on its way"
    queue_ms: float = 0.0

    @property
    def is_routine(self) -> bool:
        is_regular = not self.is_retransmission and not self.is_lost and self.offset is not None
        return is_regular and (self.is_data or self.is_ack)

    @property
    def is_data(self) -> bool:
        return self.segment in ("data", "QUIC packet")

    @property
    def is_ack(self) -> bool:
        return self.segment in ("ACK", "QUIC ACK")

    @property
    def is_lost(self) -> bool:
        return self.outcome.startswith(("dropped", "evicted"))

    @property
    def first(self) -> int:
        assert self.offset is not None, "asked of data and acknowledgements of the request alone"
        return self.offset

    @property
    def end(self) -> int:
        return self.first + self.bytes

    def describe(self) -> str:
        """Describe the packet and its outcome."""
        text = self.segment
        if self.offset is None:
            text += " of an earlier request" if self.is_data or self.is_ack else ""
        elif self.segment == "data":
            text += f" {_range(self.first, self.end)}"
        elif self.segment == "ACK":
            text += f" to {self.first:,}"
        elif self.segment.startswith("QUIC"):
            text += f" {self.first:,}" + (f", {self.bytes:,} bytes" if self.bytes else "")
        suffix = " again" if self.is_retransmission else ""
        outcomes = {"arrived": _queue([self]), "arrived marked": f"marked, {_queue([self])}"}
        return f"{text}{suffix}: {outcomes.get(self.outcome, self.outcome)}"


def lines(events: Iterable[Mapping[str, Any]], request_bytes: int, response_bytes: int) -> list[Line]:
    """Return the lines of one request's timeline.

    Parameters
    ----------
    events
        The rows of its timeline.
    request_bytes
        The size of the request.
    response_bytes
        The size of the response.
    """
    sizes = {"client": f"request of {request_bytes:,} bytes", "server": f"response of {response_bytes:,} bytes"}
    result: list[Line] = []
    routine: list[_Packet] = []
    for event in _join_packets(events):
        if isinstance(event, _Packet) and event.is_routine:
            routine.append(event)
            continue
        result += _flights(routine)
        routine = []
        if isinstance(event, _Packet):
            until = event.at_ms if event.until_ms is None else event.until_ms
            result.append(Line(event.at_ms, until, event.sender, event.describe()))
        else:
            time_ms = event["time_ns"] / 1e6
            result.append(Line(time_ms, time_ms, event["place"], _event(event, sizes)))
    return result + _flights(routine)


def incidents(events: Iterable[Mapping[str, Any]]) -> list[Line]:
    """Return the incidents of a page's timeline.

    They are drops, retransmissions, timers other than that of delayed acknowledgements, recovery, and windows reduced
    for marks.
    """
    by_connection: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for event in events:
        by_connection[event["connection"]].append(event)
    found = [
        replace(line, connection=connection)
        for connection, own in by_connection.items()
        for line in _incidents_of_connection(own)
    ]
    return sorted(found, key=lambda line: line.at_ms)


def _incidents_of_connection(events: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    for event in _join_packets(events):
        if isinstance(event, _Packet):
            if event.is_retransmission or event.is_lost:
                until = event.at_ms if event.until_ms is None else event.until_ms
                yield Line(event.at_ms, until, event.sender, event.describe())
        elif event["event"] not in _ROUTINE:
            time_ms = event["time_ns"] / 1e6
            yield Line(time_ms, time_ms, event["place"], _event(event, {}))


def _join_packets(events: Iterable[Mapping[str, Any]]) -> list[_Packet | Mapping[str, Any]]:
    """Join the departure and the arrival or loss of each packet; other events stay as they are."""
    joined: list[_Packet | Mapping[str, Any]] = []
    in_flight: dict[tuple[str, str, int | None, int], deque[int]] = defaultdict(deque)
    for event in events:
        time_ms = event["time_ns"] / 1e6
        key = (event["sender"], event["segment"], event["offset"], event["bytes"])
        if not event["segment"]:
            joined.append(event)
        elif event["event"].startswith("sent"):
            in_flight[key].append(len(joined))
            joined.append(_Packet(*key, is_retransmission=event["event"] == "sent again", at_ms=time_ms))
        elif in_flight[key]:
            index = in_flight[key].popleft()
            sent = joined[index]
            assert isinstance(sent, _Packet), "a packet was sent before it arrived"
            queue_ms = event["waited_ns"] / 1e6
            joined[index] = replace(sent, until_ms=time_ms, outcome=event["event"], queue_ms=queue_ms)
    return joined


def _event(event: Mapping[str, Any], sizes: dict[str, str]) -> str:
    name, place, waited_ms = event["event"], event["place"], event["waited_ns"] / 1e6
    if name == "written":
        # A source may write more before the response has come.
        return sizes.pop(place, "further data")
    if name == "complete":
        return "response complete" if place == "client" else "request complete"
    if waited_ms:
        return f"{name} after {waited_ms:,.1f} ms"
    return f"{name}, cwnd {event['cwnd']:,} bytes" if event["cwnd"] else str(name)


def _flights(packets: Sequence[_Packet]) -> list[Line]:
    """Return lines for packets without an incident, one for each flight of data with its acknowledgements."""
    flights: list[list[_Packet]] = []
    for packet in packets:
        if packet.is_data and (not flights or _starts_flight(packet, flights[-1])):
            flights.append([packet])
        elif flights:
            flights[-1].append(packet)
    groups = [[flight] for flight in flights[:_FLIGHTS]]
    if len(flights) > _FLIGHTS:
        groups.append(flights[_FLIGHTS:])
    return [_describe(group) for group in groups]


def _starts_flight(packet: _Packet, flight: Sequence[_Packet]) -> bool:
    """Return true if an acknowledgement of the flight released the packet, or it has the other direction."""
    first = flight[0]
    acks = (other for other in flight if other.is_ack and other.sender != first.sender)
    arrived = (ack.until_ms for ack in acks if _acknowledges(ack, first) and ack.until_ms is not None)
    return packet.sender != first.sender or any(time_ms <= packet.at_ms for time_ms in arrived)


def _acknowledges(ack: _Packet, data: _Packet) -> bool:
    """Return true if an acknowledgement covers data. One of QUIC has its own number; it covers what had arrived."""
    if data.segment == "data":
        return ack.first > data.first
    return data.until_ms is not None and data.until_ms <= ack.at_ms


def _describe(flights: Sequence[Sequence[_Packet]]) -> Line:
    packets = [packet for flight in flights for packet in flight]
    data = [packet for packet in packets if packet.is_data]
    acks = [packet for packet in packets if packet.is_ack and packet.sender != data[0].sender]
    prefix = f"{len(flights):,} flights, " if len(flights) > 1 else ""
    text = f"{prefix}{_content(data)}: {_queue(data)}"
    marks = sum(packet.outcome == "arrived marked" for packet in packets)
    if marks:
        text += f", {marks:,} marked"
    delivered = [ack for ack in acks if ack.until_ms is not None]
    if delivered:
        text += f"; {'its ACK' if len(delivered) == 1 else f'{len(delivered):,} ACKs'} {_queue(delivered)}"
    arrived = [packet.until_ms for packet in data if packet.until_ms is not None]
    return Line(data[0].at_ms, max(arrived, default=data[0].at_ms), data[0].sender, text)


def _content(data: Sequence[_Packet]) -> str:
    """Return the number of packets with their bytes: the range, or of QUIC, whose streams have their own, the sum."""
    if data[0].segment == "data":
        content = _range(min(packet.first for packet in data), max(packet.end for packet in data))
        return f"{pluralize(len(data), 'segment')} {content}"
    return f"{pluralize(len(data), 'QUIC packet')}, {sum(packet.bytes for packet in data):,} bytes"


def _range(first: int, end: int) -> str:
    return f"{first:,}-{end:,}"


def _queue(packets: Sequence[_Packet]) -> str:
    waits = [packet.queue_ms for packet in packets if packet.until_ms is not None]
    if not waits:
        return "still on its way"
    low, high = f"{min(waits):,.1f}", f"{max(waits):,.1f}"
    return f"queue {low} ms" if low == high else f"queue {low}-{high} ms"
