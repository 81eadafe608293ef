"""What a lost packet can cost the user who waits for it, at most: bounds from the timers of TCP.

A lost packet is sent again when a timer runs out, or sooner, when duplicate acknowledgements tell of it. So it delays
its request by no more than the timer, longer by what its back-off adds where the packet is lost again, and by the round
trips that the window takes to become as wide as it was. A page waits no longer than the request did. The mean over all
lost packets follows from which packets they are, which the queue discipline decides: one that drops by packets takes
them as they come, one that drops by bytes in proportion to their sizes.

Sources: RFC 6298 for the timers' arithmetic; FreeBSD of about 2002 (a minimum of 1 s, 3 s before the first sample of a
round-trip time), and older BSD and ns-2 (6 s), which the band at 6 s in figure 25 of Le et al. (2003) looks like.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Drops(StrEnum):
    """Which packets a queue discipline drops."""

    BY_PACKETS = "by packets"
    """Each with the same probability: RED in packet mode, drop-tail."""
    BY_BYTES = "by bytes"
    """Each with a probability in proportion to its size: the byte modes."""
    ANY = "any"
    """Those whose loss is the dearest: what no law can surpass."""


class Kind(StrEnum):
    """Packets of web traffic, by which timer waits for them."""

    HANDSHAKE = "SYN and SYN/ACK"
    """There is no sample of the round-trip time: the first timer."""
    FIRST_FLIGHT = "the first data of a connection"
    """What a server sends before it has a sample: the first timer again."""
    LATER = "requests and other data"
    """There is a sample."""
    FREE = "acknowledgements and FINs"
    """Nobody waits: later acknowledgements say the same, and pages do not wait for a connection's end."""


@dataclass(frozen=True)
class Amount:
    """What a request has of some kind of packets, in both directions."""

    packets: float
    bytes: float
    """With TCP's and IP's headers."""


WEB: Mapping[Kind, Amount] = {
    Kind.HANDSHAKE: Amount(packets=1.18, bytes=47),
    Kind.FIRST_FLIGHT: Amount(packets=0.84, bytes=855),
    Kind.LATER: Amount(packets=5.7, bytes=7000),
    Kind.FREE: Amount(packets=9.5, bytes=380),
}
"""A request of the workload unc-2001, each segment acknowledged: counted in the engine on an idle network."""

ROUND_TRIPS = 2.3
"""Round trips of such a request, its handshake among them: its mean response time there, in round-trip times."""


@dataclass(frozen=True, kw_only=True)
class RoundTrips:
    """Round-trip times without a queue, in seconds."""

    mean_s: float
    longest_s: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """The timers of the hosts. The defaults are the longest that the sources allow."""

    first_s: float = 6.0
    """The timer before the first sample of a round-trip time, in seconds."""
    minimum_s: float = 1.0
    """The shortest timer, in seconds."""
    window: int = 11
    """The widest window, in segments: 16 kB."""
    lost_again: float = 0.1
    """The share of lost packets that are lost again when they are resent, at most: ours, above all printed losses."""

    def costs_s(self, round_trips: RoundTrips) -> dict[Kind, float]:
        """Return what the loss of a packet of each kind costs at most, on average, in seconds."""
        # A timer after the first sample R is at most R + 4 R / 2.
        later = min(
            max(self.minimum_s, 3 * round_trips.longest_s),
            self.minimum_s + 3 * round_trips.mean_s,
        )
        # Each time that it is lost again the timer is twice as long: 1 + 2 q + 4 q^2 ... for 1 + q + q^2 ... losses.
        backed_off = (1 - self.lost_again) / (1 - 2 * self.lost_again)
        recovery = self.recovery_round_trips * round_trips.mean_s
        return {
            Kind.HANDSHAKE: backed_off * self.first_s + recovery,
            Kind.FIRST_FLIGHT: backed_off * self.first_s + recovery,
            Kind.LATER: backed_off * later + recovery,
            Kind.FREE: 0.0,
        }

    @property
    def recovery_round_trips(self) -> float:
        """Round trips that a transfer is behind when its window is as wide again as before a timeout.

        The window begins at 1, doubles until half of what it was, and grows by 1 from there; what it could not send is
        counted in full windows.
        """
        window, behind, half = 1, 0, self.window // 2
        while window < self.window:
            behind += self.window - window
            window = min(2 * window, half) if window < half else window + 1
        return behind / self.window


def dearest_s(
    drops: Drops, round_trips: RoundTrips, *, hosts: Hosts | None = None, request: Mapping[Kind, Amount] = WEB
) -> float:
    """Return what a lost packet costs its user at most, on average over those that are lost.

    Parameters
    ----------
    drops
        Which packets are lost.
    round_trips
        Of the connections.
    hosts
        Their timers; by default the longest that the sources allow.
    request
        The packets of a request.

    Returns
    -------
    float
        Seconds.
    """
    costs = (hosts or Hosts()).costs_s(round_trips)
    if drops is Drops.ANY:
        return max(costs.values())
    weights = {kind: amount.packets if drops is Drops.BY_PACKETS else amount.bytes for kind, amount in request.items()}
    return sum(weights[kind] * costs[kind] for kind in weights) / sum(weights.values())
