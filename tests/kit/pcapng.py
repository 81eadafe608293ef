"""Packets of a pcapng file, read independently of what wrote it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FIN, SYN, RST, ACK, ECE, CWR = 0x01, 0x02, 0x04, 0x10, 0x40, 0x80


@dataclass(frozen=True)
class Seen:
    """A packet as it stands in a capture."""

    interface: int
    nanos: int
    stored: bytes
    length: int
    comment: str

    @property
    def sockets(self) -> tuple[bytes, bytes]:
        return self.stored[12:16] + self.stored[20:22], self.stored[16:20] + self.stored[22:24]

    @property
    def seq(self) -> int:
        return int.from_bytes(self.stored[24:28])

    @property
    def ack(self) -> int:
        return int.from_bytes(self.stored[28:32])

    @property
    def flags(self) -> int:
        return self.stored[33]

    @property
    def data(self) -> int:
        return self.length - len(self.stored)

    @property
    def next_seq(self) -> int:
        return self.seq + self.data + bool(self.flags & SYN) + bool(self.flags & FIN)


def blocks(file: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset < len(file):
        kind, length = struct.unpack_from("<II", file, offset)
        assert length % 4 == 0
        assert struct.unpack_from("<I", file, offset + length - 4) == (length,)
        yield kind, file[offset + 8 : offset + length - 4]
        offset += length
    assert offset == len(file)


def options(body: bytes) -> dict[int, bytes]:
    values = {}
    offset = 0
    while (header := struct.unpack_from("<HH", body, offset)) != (0, 0):
        code, length = header
        values[code] = body[offset + 4 : offset + 4 + length]
        offset += 4 + length + -length % 4
    assert offset + 4 == len(body)
    return values


def packets(file: Path) -> list[Seen]:
    captured_packets = []
    for kind, body in blocks(file.read_bytes()):
        if kind == 6:
            interface, high, low, stored, length = struct.unpack_from("<5I", body)
            comment = options(body[20 + stored + -stored % 4 :])[1].decode()
            captured_packets.append(Seen(interface, high << 32 | low, body[20 : 20 + stored], length, comment))
    return captured_packets


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071), which is 0 over data that contain their own."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF
