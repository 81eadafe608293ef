"""The candidates of advice: queue disciplines with their defaults, or with a published rule's settings for the link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from aqmlab import design
from aqmlab.advice.access_link import AccessLink

PLAIN = "droptail"
"""The candidate that others are compared with: a plain queue of the default length in Linux."""

_FULL_PACKET = 1500.0
"""The size in bytes of the packets of long transfers, which fill a buffer."""


def _buffer(link: AccessLink) -> str:
    """Return a drop-tail queue of one bandwidth-delay product at the faster rate, because both directions share it."""
    capacity = design.packets_per_sec(bits_per_sec=1e6 * link.down_mbps, mean_packet=_FULL_PACKET)
    return design.droptail(packets_per_sec=capacity, rtt_s=link.rtt_mean_ms / 1e3).scheme


def _codel(name: str) -> Callable[[AccessLink], str]:
    # The target must suit the slower direction, where the longest packet takes longest.
    def scheme(link: AccessLink) -> str:
        result = design.codel(bits_per_sec=1e6 * link.up_mbps, rtt_max_s=link.rtt_ms[1] / 1e3)
        return result.scheme.replace("codel", name, 1)

    return scheme


def _cake(link: AccessLink) -> str:
    """Return CAKE's queues: its rule for emptied queues, and a shaper's quantum of rate/4096, from 300 B to a frame."""
    quantum = min(max(1e6 * link.up_mbps / 8 / 4096, 300), 1514)
    return f"fq_cobalt:quantum={quantum:.0f} B,through_old=never"


def _constant(scheme: str) -> Callable[[AccessLink], str]:
    return lambda link: scheme


CANDIDATES: Mapping[str, Callable[[AccessLink], str]] = MappingProxyType(
    {
        PLAIN: _constant("droptail:limit=1000"),
        "droptail, one BDP": _buffer,
        # avpkt of 1000 bytes: tc-red(8).
        "ared": _constant("ared:mean_packet=1000 B"),
        "codel": _constant("codel"),
        "codel, by rule": _codel("codel"),
        # The minimum buffer of CAKE, and the default of fq_cobalt.
        "cobalt": _constant("cobalt:limit=4194304 B"),
        "pie": _constant("pie"),
        "pi2": _constant("pi2"),
        "dualpi2": _constant("dualpi2"),
        "fq_codel": _constant("fq_codel"),
        "fq_codel, by rule": _codel("fq_codel"),
        "fq_pie": _constant("fq_pie"),
        "fq_cobalt": _cake,
    }
)
"""The candidates, with functions that return their scheme for a link; settings are Linux's, or those of a rule
(docs/guide/design.md)."""
