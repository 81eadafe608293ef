"""Disciplines that Linux has only as a part of another, or with other parameters: the nearest options."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from aqmlab._core import size_in_bytes
from aqmlab.disciplines.catalogue import NOECN
from aqmlab.tc import values

Parameters = Mapping[str, Any]
"""A discipline's resolved parameters."""

_FRAME_BYTES = 1514


def _red(parameters: Parameters, bits: int) -> str:
    packet = size_in_bytes(parameters["mean_packet"])
    minimum, maximum = (round(parameters[name] * packet) for name in ("min_th", "max_th"))
    limit = int(parameters["limit"].split()[0]) * _FRAME_BYTES
    text = (
        f"red limit {limit} min {minimum} max {maximum} avpkt {packet} burst"
        f" {burst(parameters['w_q'], minimum / packet)} adaptive probability {parameters['max_p']:g}"
        f" bandwidth {values.rate(bits)}"
    )
    if parameters.get(NOECN):
        return text
    return f"{text} ecn harddrop" if parameters["ecn_policy"] == "drop_above_max" else f"{text} ecn"


def burst(weight: float, min_th: float) -> int:
    """Return the burst in packets, by which ``tc`` sets RED's weight.

    It is the largest that keeps the average below ``min_th``: L with ``L + 1 + ((1 - w)^(L + 1) - 1) / w < min_th``
    (Floyd and Jacobson 1993, section V). ``tc`` computes the weight from it, as the next lower power of two.

    Examples
    --------
    >>> burst(0.0041, 5)
    50
    """

    def is_above(length: int) -> bool:
        return length + 1 + math.expm1((length + 1) * math.log1p(-weight)) / weight >= min_th

    high = 1
    while not is_above(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return max(low, math.ceil(min_th))


def _cake(isolation: str) -> Callable[[Parameters, int], str]:
    def write(parameters: Parameters, bits: int) -> str:
        interval = values.written(parameters["interval"], values.TIME)
        return f"cake besteffort {isolation} rtt {interval} memlimit {size_in_bytes(parameters['limit'])}"

    return write


WRITERS: Mapping[str, Callable[[Parameters, int], str]] = MappingProxyType(
    {"ared": _red, "cobalt": _cake("flowblind"), "fq_cobalt": _cake("flows")}
)
"""For each discipline, a function that returns the options for its parameters and a bit rate."""

_COBALT = "Linux has COBALT only in CAKE, whose limit counts the kernel's memory of packets."

NOTES: Mapping[str, str] = MappingProxyType(
    {
        "ared": "Linux measures RED's queue in bytes; the simulation counted packets, converted with avpkt bytes each.",
        "cobalt": _COBALT,
        "fq_cobalt": _COBALT,
    }
)
"""A sentence about each of them."""

_RED = {"min_th", "max_th", "w_q", "max_p", "ecn_policy", "mean_packet", "limit", "target_delay", NOECN}
_CAKE = {"interval", "target", "quantum", "limit"}
"""The parameters that CAKE sets: it derives the target from the interval, and the quantum from the rate."""

_USED = {"ared": _RED, "cobalt": _CAKE, "fq_cobalt": _CAKE | {"flows"}}


def ignored(name: str, parameters: Parameters) -> list[str]:
    """Return a sentence about the parameters that the options do not set."""
    others = [key for key in parameters if key not in _USED[name]]
    return [f"tc has no {', '.join(others)} of {name}: Linux has its own."] if others else []
