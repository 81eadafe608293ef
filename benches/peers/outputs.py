"""Parsers of the programs' output: marks, counters of the bottleneck, goodput and response times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PERCENTILES = (10, 25, 50, 75, 90, 95, 99)


@dataclass(frozen=True)
class Mark:
    """The resources that a program had used when its simulated time was ``at_s``."""

    at_s: float
    user_s: float
    packets: int
    """That had come to the two queues of the bottleneck."""
    peak_kib: int


@dataclass(frozen=True)
class Direction:
    """One direction of the bottleneck over the window."""

    arrived: int
    dropped: int
    mbps: float
    queue_mean: float


@dataclass(frozen=True)
class Output:
    """The output of one run."""

    marks: tuple[Mark, ...]
    directions: tuple[Direction, Direction]
    goodput_mbps: tuple[float, ...]
    """Of each long flow."""


_MARK = re.compile(r"^mark (\S+) user_s (\S+) packets (\d+) peak_kib (\d+)$", re.MULTILINE)
_DIRECTION = re.compile(r"^direction ([01]) arrived (\d+) dropped (\d+) mbps (\S+) queue_mean (\S+)$", re.MULTILINE)
_GOODPUT = re.compile(r"^goodput_mbps((?: \S+)+)$", re.MULTILINE)


def marks(text: str) -> tuple[Mark, ...]:
    """Read the lines ``mark``."""
    return tuple(Mark(float(at_s), float(user), int(n), int(kib)) for at_s, user, n, kib in _MARK.findall(text))


def read(text: str) -> Output:
    """Read what a driver of ns-2 or ns-3 printed. Of lines about one direction the last ones count.

    Raises
    ------
    ValueError
        When it does not tell of both directions.
    """
    directions = {
        int(d): Direction(int(arrived), int(dropped), float(mbps), float(mean))
        for d, arrived, dropped, mbps, mean in _DIRECTION.findall(text)
    }
    if directions.keys() != {0, 1}:
        raise ValueError(f"must tell of directions 0 and 1, got {text.strip()[-200:]!r}")
    goodput = _GOODPUT.search(text)
    flows = tuple(map(float, goodput[1].split())) if goodput else ()
    return Output(marks(text), (directions[0], directions[1]), flows)


def response_times_ms(file: Path, begun_from_s: float, begun_until_s: float) -> list[float]:
    """Read the response times of the transfers begun in this window, from lines ``begun seconds bytes``.

    A last line that a crash cut short is passed over.
    """
    times = []
    for line in file.read_text(encoding="ascii").splitlines(keepends=True):
        words = line.split()
        if line.endswith("\n") and begun_from_s <= float(words[0]) < begun_until_s:
            times.append(1e3 * float(words[1]))
    return times


def percentiles(values: list[float]) -> dict[str, float]:
    """Return the value that this share of all values is below."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no transfer was begun and completed in the window")
    indices = {p: min(len(ordered) - 1, p * len(ordered) // 100) for p in PERCENTILES}
    return {f"p{p}": ordered[index] for p, index in indices.items()}
