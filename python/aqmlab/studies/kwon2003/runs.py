"""Kwon and Fahmy's two simple networks, their algorithms and their traffic, as experiments.

What the paper does not print is marked as ours; so is the rate of the links between hosts and routers, for which the
default of the sources' interfaces stands, 100 Mbit/s. Pages are those of ns-2's own example of web traffic
(``large-scale-web-traffic.tcl``): one object each, requested 15 s apart in the mean, a request of one packet, objects
of 12 packets in the mean with a Pareto distribution of the second kind of shape 1.2. In ns-2.1b7, which the paper used,
a session asks for its next page whether or not the last one has come (``webtraf.cc`` could wait only from November 2001
on), so that the pages of all sessions together arrive in a Poisson process, as the paper says; each has a connection of
its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aqmlab.spec.experiment import Experiment, Protocol

BUFFER = "120 kB"
_THRESHOLDS = {"min_th": 10, "max_th": 30, "w_q": 0.002, "max_p": 0.1, "mean_packet": "1000 B", "limit": BUFFER}
"""A twelfth and a quarter of the buffer, in packets of 1,000 bytes."""


def ldc(target: str, **others: Any) -> dict[str, Any]:
    """Return LDC with a target delay as in table 2; ``others`` differ from it."""
    return {"ldc": {"d_target": target, "limit": BUFFER, **others}}


QUEUES: Mapping[str, dict[str, Any]] = {
    "DropTail": {"droptail": {"limit": BUFFER}},
    "RED": {"red": _THRESHOLDS},
    "SRED": {"sred": {"limit": BUFFER}},
    "FRED": {"fred": {**_THRESHOLDS, "minq": 4}},
    "BLUE": {"blue": {"d1": 0.2, "d2": 0.02, "freeze_time": "100 ms", "limit": BUFFER}},
    # q_ref, which is not printed, is ns-2's. Rates are not averaged here; the paper has w_q = 0.002.
    "REM": {
        "rem": {"q_ref": 20, "gamma": 0.005, "mode": "packet", "mean_packet": "1000 B", "tau": "2 ms", "limit": BUFFER}
    },
    "LDC": ldc("4 s"),
}
"""Table 2; what it does not say is a default, which is the paper's value or that of the algorithm's own paper."""

TCP = {
    "profile": "ns2-reno",
    # Senders of ns-2 never give up; waits double up to a minute.
    "syn_backoff": [1, 2, 4, 8, 10],
    "connect_timeout": "1 h",
    "data_retransmits": 255,
}
IDEAL = {"overhead": "0 B", "device_fifo": 0}
"""A link of ns-2: packets are as long as IP says, and no driver holds any."""

_SEGMENT = 960
"""Bytes of data in a packet of 1,000."""
PAGE = {"size": {"pareto_ii": {"mean": f"{12 * _SEGMENT} B", "shape": 1.2}}, "request": f"{_SEGMENT} B"}
PAGE_EVERY_S = 15
RTT = {"fixed": "40 ms"}
"""What there is beside the link's delay, 10 ms each way; both ours, since the figures show no delays."""


def sessions(name: str, number: int) -> dict[str, Any]:
    """Return HTTP sessions: clients on side 0, servers on side 1."""
    return {"name": name, "rate_per_second": [number / PAGE_EVERY_S, 0], **PAGE}


def web(queue: Mapping[str, Any], protocol: Protocol, *, queue_every: str = "10 ms") -> Experiment:
    """Return the simple web configuration: 20 HTTP sessions and UDP at half the rate of the bottleneck."""
    return Experiment(
        link={"rate": "100 kbit/s", "delay": "10 ms", **IDEAL},
        queue=queue,
        tcp=TCP,
        users={"per_side": 0},
        sources=[
            {"transfers": {**sessions("http", 20), "rtt": RTT}},
            {"datagrams": {"name": "udp", "side": 1, "rate": "50 kbit/s", "packet": "1000 B"}},
        ],
        protocol=protocol,
        record={"queue_every": queue_every},
    )


def ftp(queue: Mapping[str, Any], protocol: Protocol) -> Experiment:
    """Return the simple FTP configuration: 100 endless transfers through 1 Mbit/s.

    Each has a machine of its own, where the paper has four senders with 25 transfers each; at a hundred times the rate
    of the bottleneck that makes no difference.
    """
    return Experiment(
        link={"rate": "1 Mbit/s", "delay": "10 ms", **IDEAL},
        queue=queue,
        tcp=TCP,
        users={"per_side": 0},
        sources=[{"bulk": {"name": "ftp", "flows": 100, "rtt": RTT}}],
        protocol=protocol,
    )
