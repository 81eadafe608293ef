"""Segments of a connection, normalised so that those of two TCP stacks can be compared.

* Sequence and acknowledgement numbers, and SACK blocks, count from the SYN of their direction, which has number 0.
* Times count from the SYN of the connection.
* The window is in bytes, with the scale that the SYNs negotiate.
* CE in the IP header is the queue's mark, and part of the outcome: ``ecn`` is the codepoint that the host sent.

Four things are left out, because they are arbitrary or have no effect here: addresses and ports, the identification of
IP packets, the values of timestamps, and the flags PSH and URG.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aqmlab.conversations.pcapng import CapturedPacket, read_packets

_FLAGS = {"SYN": 0x02, "FIN": 0x01, "RST": 0x04, "ACK": 0x10, "ECE": 0x40, "CWR": 0x80, "AE": 0x100}
_ECN = ("not-ECT", "ECT(1)", "ECT(0)", "CE")
_TCP = 6
_NUMBERS = 1 << 32

_Endpoint = tuple[bytes, bytes]
"""Address and port."""


@dataclass(frozen=True)
class Segment:
    """A segment at its arrival at the queue, normalised."""

    direction: str
    """``>`` from the client, which sends the first SYN, ``<`` from the server."""
    time_ns: int
    """The time since the connection's first SYN."""
    seq: int
    """The sequence number; data begin at 1."""
    length: int
    """The bytes of data."""
    ack: int
    """The acknowledgement number."""
    window: int
    """The receive window in bytes."""
    flags: tuple[str, ...]
    """The flags that are set, without PSH and URG."""
    ecn: str
    """The codepoint that the host sent."""
    sack: tuple[tuple[int, int], ...]
    """SACK blocks in their order."""
    options: tuple[str, ...]
    """The other options; values only where they are comparable."""
    outcome: str
    """The outcome at the queue: ``passed``, ``marked`` or ``dropped``."""

    def __str__(self) -> str:
        text = f"{self.time_ns / 1e6:12.6f} ms {self.direction} {self.seq}:{self.seq + self.length}"
        if "ACK" in self.flags:
            text += f" ack {self.ack}"
        text += f" win {self.window}"
        if flags := [flag for flag in self.flags if flag != "ACK"]:
            text += " " + " ".join(flags)
        if self.sack:
            text += " sack " + " ".join(f"{start}-{end}" for start, end in self.sack)
        if self.ecn != _ECN[0]:
            text += f" {self.ecn}"
        return text if self.outcome == "passed" else f"{text} [{self.outcome}]"


@dataclass(frozen=True)
class Conversation:
    """The segments of a connection, in the order of their arrival at their queues."""

    opened_ns: int
    """The time of the first SYN since the start of the run."""
    segments: list[Segment]

    def __str__(self) -> str:
        return "\n".join(map(str, self.segments))


def read_conversations(file: Path | str) -> list[Conversation]:
    """Return the TCP connections of a capture that it shows from their first SYN, in the order of these."""
    connections: dict[frozenset[_Endpoint], _Connection] = {}
    closed: list[_Connection] = []
    for packet in read_packets(Path(file)):
        header = _Header.read(packet)
        if header is None:
            continue
        key = frozenset((header.source, header.destination))
        known = connections.get(key)
        is_syn = header.flags & (_FLAGS["SYN"] | _FLAGS["ACK"]) == _FLAGS["SYN"]
        # A port may have served another connection before.
        if is_syn and (known is None or known.first_seq != header.seq):
            closed += [known] if known else []
            known = connections[key] = _Connection(header.source, packet.at_ns, header.seq)
        if known is not None:
            known.add(header, packet)
    found = sorted([*closed, *connections.values()], key=lambda connection: connection.opened_ns)
    return [Conversation(connection.opened_ns, connection.segments) for connection in found]


@dataclass(frozen=True)
class _Header:
    """The fields of a packet with a TCP header."""

    source: _Endpoint
    destination: _Endpoint
    ecn: int
    seq: int
    ack: int
    flags: int
    window: int
    length: int
    options: dict[int, bytes]

    @staticmethod
    def read(packet: CapturedPacket) -> _Header | None:
        ip = packet.headers
        start = (ip[0] & 15) * 4
        if ip[0] >> 4 != 4 or ip[9] != _TCP:
            return None
        tcp = ip[start:]
        end = (tcp[12] >> 4) * 4
        return _Header(
            source=(ip[12:16], tcp[0:2]),
            destination=(ip[16:20], tcp[2:4]),
            ecn=ip[1] & 3,
            seq=int.from_bytes(tcp[4:8]),
            ack=int.from_bytes(tcp[8:12]),
            flags=int.from_bytes(tcp[12:14]) & 0x1FF,
            window=int.from_bytes(tcp[14:16]),
            length=packet.length - start - end,
            options=dict(_options(tcp[20:end])),
        )


_SIZE, _SCALE, _SACK_PERMITTED, _SACK, _TIMESTAMPS = 2, 3, 4, 5, 8
_NAMES = {_SACK_PERMITTED: "sackOK", _TIMESTAMPS: "timestamps", 172: "AccECN", 174: "AccECN"}


def _options(text: bytes) -> Iterator[tuple[int, bytes]]:
    while text and text[0] != 0:
        if text[0] == 1:
            text = text[1:]
            continue
        yield text[0], text[2 : text[1]]
        text = text[text[1] :]


@dataclass
class _Connection:
    """A connection of which the capture is being read."""

    client: _Endpoint
    opened_ns: int
    first_seq: int
    first_numbers: dict[str, int] = field(default_factory=dict)
    scales: dict[str, int] = field(default_factory=dict)
    interfaces: dict[str, int] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)

    def add(self, header: _Header, packet: CapturedPacket) -> None:
        direction, other = (">", "<") if header.source == self.client else ("<", ">")
        # In a chain, a packet arrives at several queues.
        if self.interfaces.setdefault(direction, packet.interface) != packet.interface:
            return
        is_syn = bool(header.flags & _FLAGS["SYN"])
        if is_syn:
            self.first_numbers[direction] = header.seq
            if _SCALE in header.options:
                self.scales[direction] = header.options[_SCALE][0]
        scale = 0 if is_syn or len(self.scales) < 2 else self.scales[direction]
        has_ack = bool(header.flags & _FLAGS["ACK"])
        marked = packet.outcome.startswith("marked")
        ecn = 2 if marked and header.ecn == 3 else header.ecn
        self.segments.append(
            Segment(
                direction=direction,
                time_ns=packet.at_ns - self.opened_ns,
                seq=self._relative(direction, header.seq),
                length=header.length,
                ack=self._relative(other, header.ack) if has_ack else 0,
                window=header.window << scale,
                flags=tuple(name for name, bit in _FLAGS.items() if header.flags & bit),
                ecn=_ECN[ecn],
                sack=tuple(self._blocks(other, header.options.get(_SACK, b""))),
                options=tuple(sorted(_comparable(header.options))),
                outcome="dropped" if "dropped" in packet.outcome else "marked" if marked else "passed",
            )
        )

    def _relative(self, direction: str, number: int) -> int:
        return (number - self.first_numbers.get(direction, 0)) % _NUMBERS

    def _blocks(self, direction: str, option: bytes) -> Iterator[tuple[int, int]]:
        numbers = [self._relative(direction, int.from_bytes(option[i : i + 4])) for i in range(0, len(option), 4)]
        return zip(numbers[::2], numbers[1::2], strict=True)


def _comparable(options: dict[int, bytes]) -> Iterator[str]:
    for kind, value in options.items():
        if kind == _SIZE:
            yield f"mss {int.from_bytes(value)}"
        elif kind == _SCALE:
            yield f"wscale {value[0]}"
        elif kind != _SACK:
            yield _NAMES.get(kind, f"option {kind}")
