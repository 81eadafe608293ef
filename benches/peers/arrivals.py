"""The arrival trace that every program replays: open-loop web transfers, a line ``t dir pair size`` each.

``t`` is the start of the active open in seconds; ``dir`` 0 when the client is on the left, so that the response
crosses from right to left, else 1; ``pair`` the pair of hosts, which fixes the minimum round-trip time; ``size`` the
bytes of the response. Requests have 300 bytes.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

PAIRS = 32
RTT_MIN_MS, RTT_MAX_MS = 10.0, 150.0
REQUEST_BYTES = 300

MEDIAN_BYTES, TAIL_FROM_BYTES, TAIL_TO_BYTES = 1e3, 1e4, 1e8
TAIL_SHARE, TAIL_SHAPE = 0.1, 1.17
"""Sizes: a lognormal body with this median, its upper tenth a truncated Pareto tail. Ours: like the web's."""


class Transfer(NamedTuple):
    """A request and its response on a connection of their own."""

    at_s: float
    direction: int
    pair: int
    response_bytes: int


def rtts_ms() -> list[float]:
    """Return the propagation round-trip time of each pair, the bottleneck's included."""
    return [RTT_MIN_MS + (RTT_MAX_MS - RTT_MIN_MS) * (pair + 0.5) / PAIRS for pair in range(PAIRS)]


def size_at(u: float) -> int:
    """Return the quantile of the response sizes at ``u``, from 0 to below 1."""
    if u >= 1 - TAIL_SHARE:
        within = (u - (1 - TAIL_SHARE)) / TAIL_SHARE
        tail = 1 - within * (1 - (TAIL_FROM_BYTES / TAIL_TO_BYTES) ** TAIL_SHAPE)
        return int(TAIL_FROM_BYTES * tail ** (-1 / TAIL_SHAPE))
    normal = NormalDist()
    # The body reaches the tail's beginning where the tail begins.
    sigma = math.log(TAIL_FROM_BYTES / MEDIAN_BYTES) / normal.inv_cdf(1 - TAIL_SHARE)
    return max(1, int(MEDIAN_BYTES * math.exp(sigma * normal.inv_cdf(u))))


def generate(per_second: float, seconds: float, seed: int) -> list[Transfer]:
    """Draw Poisson arrivals at this rate a second in each direction.

    Sizes are stratified, one from each n-th part of their distribution, in random order: the heavy tail stays, and the
    offered load differs little from seed to seed.
    """
    transfers = []
    for direction in (0, 1):
        draw = random.Random(1000 * seed + direction)
        times = []
        t = draw.expovariate(per_second)
        while t < seconds:
            times.append(t)
            t += draw.expovariate(per_second)
        sizes = [size_at((k + draw.random()) / len(times)) for k in range(len(times))]
        draw.shuffle(sizes)
        transfers += [Transfer(t, direction, draw.randrange(PAIRS), size) for t, size in zip(times, sizes, strict=True)]
    return sorted(transfers)


def to_text(transfers: list[Transfer]) -> str:
    """Write a trace as every program reads it."""
    return "".join(
        f"{transfer.at_s:.6f} {transfer.direction} {transfer.pair} {transfer.response_bytes}\n"
        for transfer in transfers
    )


def until(text: str, seconds: float) -> str:
    """Cut a trace off, so that a shorter run reads less of it."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if float(line.split(maxsplit=1)[0]) < seconds)


def read(file: Path) -> str:
    """Read a trace.

    Raises
    ------
    SystemExit
        When it is not there or empty.
    """
    try:
        text = file.read_text(encoding="ascii")
    except OSError as error:
        raise SystemExit(f"peers: the trace {file} cannot be read: {error.strerror}") from None
    if not text:
        raise SystemExit(f"peers: the trace {file} is empty")
    return text
