"""Packets of a capture file that aqmlab has written: a reader of pcapng (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ENHANCED_PACKET = 6
_COMMENT = 1


@dataclass(frozen=True)
class CapturedPacket:
    """A packet at its arrival at a queue."""

    interface: int
    """The number of the queue: twice its link's number in the chain, plus the direction."""
    at_ns: int
    """The time of the arrival."""
    headers: bytes
    """The stored bytes, from the first of the IP header."""
    length: int
    """The length of the IP packet in bytes."""
    outcome: str
    """The outcome at the queue, as text: ``marked, queued 3.200000 ms``."""


def read_packets(file: Path) -> Iterator[CapturedPacket]:
    """Yield the packets of a capture file in the order of their arrival."""
    content = file.read_bytes()
    offset = 0
    while offset < len(content):
        kind, length = struct.unpack_from("<II", content, offset)
        if kind == _ENHANCED_PACKET:
            yield _packet(content[offset + 8 : offset + length - 4])
        offset += length


def _packet(body: bytes) -> CapturedPacket:
    interface, upper, lower, stored, length = struct.unpack_from("<5I", body)
    headers = body[20 : 20 + stored]
    outcome = _options(body[20 + stored + -stored % 4 :]).get(_COMMENT, b"").decode()
    return CapturedPacket(interface, upper << 32 | lower, headers, length, outcome.partition(";")[0])


def _options(body: bytes) -> dict[int, bytes]:
    found = {}
    offset = 0
    while offset + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, offset)
        if not code:
            break
        found[code] = body[offset + 4 : offset + 4 + length]
        offset += 4 + length + -length % 4
    return found
