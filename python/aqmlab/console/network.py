"""The network of a run as a drawing with the numbers of its links, stored or as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aqmlab._core import Resolved
from aqmlab.spec import directions
from aqmlab.store.result import Result
from aqmlab.topology import svg
from aqmlab.topology.network import stored_topology


def of_result(result: Result) -> str:
    """Return the network of a stored run with the means over its measurement window."""
    states = [
        svg.DirectionState(
            throughput_mbps=part["throughput_mbps"],
            utilisation=part["utilisation"],
            queue_packets=part["queue_packets_mean"],
            delay_ms=(part["queue_delay_ms"] or {}).get("mean"),
            loss_percent=part["loss_percent"],
        )
        for part in result.summary["directions"]
    ]
    # The directions of a link follow each other.
    return svg.draw(stored_topology(result.cell.spec), list(zip(states[::2], states[1::2], strict=True)))


def of_reading(spec: Resolved, reading: Mapping[str, Any]) -> str:
    """Return the network of a run in progress with the numbers since the reading before."""
    network = stored_topology(spec)
    states = []
    for number, link in enumerate(network.links, start=1):
        # The share is known only of a rate that is the same in both directions and does not change.
        rate_mbps = None if link.varies or link.has_two_rates else 1e-6 * link.rate_bps
        places = [directions.place(number, name, in_chain=len(network.links) > 1) for name in network.directions]
        states.append([_state(reading, place, rate_mbps) for place in places])
    return svg.draw(network, states)


def _state(reading: Mapping[str, Any], name: str, rate_mbps: float | None) -> svg.DirectionState:
    throughput = reading["throughput"].get(name)
    return svg.DirectionState(
        throughput_mbps=throughput,
        # Of IP packets, without the overhead of frames.
        utilisation=None if throughput is None or rate_mbps is None else throughput / rate_mbps,
        queue_packets=reading["queue"].get(name),
        delay_ms=reading["delay"].get(name),
        loss_percent=reading["loss"].get(name),
    )
