"""Upper bounds of the cost of a lost packet to the user who waits for it, from the timers of TCP.

A lost packet is retransmitted when a timer expires, or sooner, after duplicate acknowledgements. It thus delays its
request by at most the timer, its back-off where the retransmission is lost too, and the round trips in which the window
recovers. A page waits no longer than its request. The mean over all lost packets depends on the kinds of packets lost.
The queue discipline decides these: it drops all packets alike (packet mode), or in proportion to their sizes.

Sources: RFC 6298 for the timers' arithmetic; FreeBSD of about 2002 (a minimum of 1 s, 3 s before the first sample of a
round-trip time); older BSD and ns-2 (6 s), to which the band at 6 s in figure 25 of Le et al. (2003) corresponds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Drops(StrEnum):
    """The packets that a queue discipline prefers to drop."""

    BY_PACKETS = "by packets"
    """Each with the same probability: RED in packet mode, drop-tail."""
    BY_BYTES = "by bytes"
    """Each with a probability in proportion to its size: the byte modes."""
    ANY = "any"
    """Those whose loss costs most: the bound for every law."""


class Kind(StrEnum):
    """Packets of web traffic, by the timer that covers their loss."""

    HANDSHAKE = "SYN and SYN/ACK"
    """No round-trip time is sampled yet: the initial timer."""
    FIRST_FLIGHT = "the first data of a connection"
    """A server sends it before it has a sample: the initial timer again."""
    LATER = "requests and other data"
    """After the first sample."""
    FREE = "acknowledgements and FINs"
    """No user waits: later acknowledgements are cumulative, and pages do not wait for the end of a connection."""


@dataclass(frozen=True)
class Amount:
    """Packets of one kind in a request, in both directions."""

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
    """Timers of the hosts; the defaults are the longest that the sources allow."""

    first_s: float = 6.0
    """The timer before the first round-trip sample, in seconds."""
    minimum_s: float = 1.0
    """The shortest timer, in seconds."""
    window: int = 11
    """The widest window, in segments: 16 kB."""
    lost_again: float = 0.1
    """Largest share of retransmissions that are lost: our choice, above all printed losses."""

    def costs_s(self, round_trips: RoundTrips) -> dict[Kind, float]:
        """Return the upper bound of the mean cost of a lost packet of each kind, in seconds."""
        # A timer after the first sample R is at most R + 4 R / 2.
        later = min(
            max(self.minimum_s, 3 * round_trips.longest_s),
            self.minimum_s + 3 * round_trips.mean_s,
        )
        # The timer doubles with each further loss: 1 + 2 q + 4 q^2 ... for 1 + q + q^2 ... losses.
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
        """Round trips that a transfer loses until its window has recovered from a timeout.

        The window begins at 1, doubles up to half of its former size, and then grows by 1. The segments that it could
        not send meanwhile are counted in full windows.
        """
        window, behind, half = 1, 0, self.window // 2
        while window < self.window:
            behind += self.window - window
            window = min(2 * window, half) if window < half else window + 1
        return behind / self.window


def max_cost_s(
    drops: Drops, round_trips: RoundTrips, *, hosts: Hosts | None = None, request: Mapping[Kind, Amount] = WEB
) -> float:
    """Return the upper bound of the cost of a lost packet, averaged over the lost packets.

    Parameters
    ----------
    drops
        The packets that the discipline drops.
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
