"""Measures of the simulated queue of bursts, comparable with the model's.

The queue is that of the data's direction. It is counted in bytes in units of a data packet, so that segments without
data weigh their share of the link. As in the model it includes the packet that is being sent.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from aqmlab._core import size_in_bytes
from aqmlab.models.batch_queue import BatchQueue, burst_sizes, windows_in_packets
from aqmlab.store.result import Result
from aqmlab.studies.kit.measures import DATA, of_data, share_within

PACKET_BYTES = 1000
"""Data packets with their 40 bytes of headers, as in ns-2."""

SEGMENT_BYTES = PACKET_BYTES - 40

PACKETS_PER_SECOND = 12_500
"""Capacity of 100 Mbit/s."""

WINDOWS = windows_in_packets(segment_bytes=SEGMENT_BYTES)
"""Shares of flows by receive window in packets."""

throughput_mbps = of_data("throughput_mbps")
"""Throughput of the data's direction, in Mbit/s; users are on one side."""

queue_packets_sampled = of_data("queue_packets_mean")
"""Mean queue of the data in packets of any size."""


def beyond_6s(result: Result) -> float:
    """Return the share of the requests that take longer than the initial RTO of 6 s."""
    return 1 - share_within(6000)(result)


@cache
def utilisation(result: Result) -> float:
    """Return the share of the time in which the link was sending."""
    sent = int(result.link.filter(direction=DATA)["bytes"].sum()) / PACKET_BYTES
    return sent / result.cell.duration_s / PACKETS_PER_SECOND


@cache
def queue_packets(result: Result) -> float:
    """Return the mean queue in packets."""
    return float(_waiting(result).mean()) + utilisation(result)


def above(result: Result, packets: int) -> float:
    """Return the share of the time in which the queue held more than a number of packets, at least 1."""
    # The sampled queue lacks the packet that is being sent.
    return float((_waiting(result) > packets - 1).mean())


def model_packets(result: Result) -> float:
    """Return the model's mean queue for the flows of a simulation, at its utilisation."""
    length = flow_packets(result)
    return BatchQueue(bursts=burst_sizes([length], windows=WINDOWS), utilisation=utilisation(result)).mean_packets


def flow_packets(result: Result) -> int:
    """Return the length of a simulation's equal flows, in packets."""
    (source,) = result.cell.resolved["sources"]
    return size_in_bytes(source["transfers"]["size"]["fixed"]) // SEGMENT_BYTES


def queue_ms(result: Result) -> float:
    """Return the time to send the mean queue, in milliseconds."""
    return 1000 * queue_packets(result) / PACKETS_PER_SECOND


@cache
def _waiting(result: Result) -> NDArray[np.float64]:
    """Return the samples of the queue, in packets."""
    return result.queue.filter(direction=DATA)["bytes"].to_numpy() / PACKET_BYTES
