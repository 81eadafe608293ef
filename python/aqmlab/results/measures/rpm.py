"""Responsiveness: how many round trips a minute a packet can make over the link as it is loaded.

The measure is that of draft-ietf-ippm-responsiveness-08, "Responsiveness under Working Conditions": a minute divided by
the time of a round trip under load. The draft's client times handshakes and requests of its own on the loaded path,
and takes a trimmed mean of them; here the round trip is of the link alone, and known: the propagation of all links
there and back, and the mean wait of the packets at each queue on the way. What hosts and access networks add is left
out, so that numbers are above a client's; 6,000 is a round trip of 10 ms.
"""

from __future__ import annotations

from collections.abc import Iterator

from aqmlab.results.measures.measure import ByScheme, Measure, Row, over_seeds
from aqmlab.results.result import Result


def round_trips_per_minute(result: Result) -> float | None:
    """Return how many fit into a minute; ``None`` where no packet went one of the ways."""
    waits_ms = [way["queue_delay_ms"]["mean"] for way in result.summary["directions"]]
    if None in waits_ms:
        return None
    round_trip_ms = sum(waits_ms) + 2000 * sum(link.delay_s for link in result.cell.links)
    return 60_000 / round_trip_ms if round_trip_ms else None


def _rows(schemes: ByScheme) -> Iterator[Row]:
    for label, results in schemes.items():
        seeds = over_seeds([{"rpm": round_trips_per_minute(result)} for result in results])
        yield {"label": label, "of": "link", **seeds}


RPM = Measure("Responsiveness, round trips a minute over the link", {"rpm": ("per minute", 0)}, _rows)
