"""Kwon and Fahmy's two simple networks, their algorithms and their traffic, as experiments.

Values that the paper does not print are marked as ours. One is the rate of the links between hosts and routers: the
default of the sources' interfaces, 100 Mbit/s. Pages are those of ns-2's own example of web traffic
(``large-scale-web-traffic.tcl``): one object each, requested 15 s apart in the mean, a request of one packet, objects
of 12 packets in the mean with a Pareto distribution of the second kind of shape 1.2. In ns-2.1b7, which the paper used,
a session asks for its next page whether or not the last one has come (``webtraf.cc`` could wait only from November 2001
on), so that the pages of each arrive in a Poisson process, as the paper says; each page has a connection of its own.

The paper's segments have 1,000 bytes, and those of ns-2.1b7 have no headers: they are as long on the link. Here the
packets are, with 960 bytes of data and 40 of headers; with headers beside 1,000 bytes the published 0.9796 Mbit/s of
data would not fit on a link of 1 Mbit/s.
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
    # q_ref, which is not printed, is ns-2's; the paper's w_q is the weight of the rate of arrivals, which REM of ns-2
    # averages, and of nothing else.
    "REM": {
        "rem": {
            "q_ref": 20,
            "gamma": 0.005,
            "w_x": 0.002,
            "mode": "packet",
            "mean_packet": "1000 B",
            "tau": "2 ms",
            "limit": BUFFER,
        }
    },
    "LDC": ldc("4 s"),
}
"""Table 2; other parameters have defaults, which are the paper's or those of the algorithm's own paper."""

TCP = {
    "profile": "ns2-reno",
    # Senders of ns-2 never give up; waits double up to a minute.
    "syn_backoff": [1, 2, 4, 8, 10],
    "connect_timeout": "1 h",
    "data_retransmits": 255,
}
IDEAL = {"overhead": "0 B", "device_fifo": 0}
"""A link of ns-2: packets have their IP length, and no driver queues them."""

HOSTS = {"rate": "100 Mbit/s"}
"""Interfaces so fast that no host holds a packet back, ours: the paper does not say how its nodes are joined."""

PACKET, SEGMENT = 1000, 960
"""Bytes of a packet, and of data in it."""
PAGE = {"size": {"pareto_ii": {"mean": f"{12 * SEGMENT} B", "shape": 1.2}}, "request": f"{SEGMENT} B"}
PAGE_EVERY_S = 15
ACCESS_S = 0.02
"""Delay of a packet's other links in seconds; the bottleneck has 10 ms. Both are our choice: the figures show no
delays."""
RTT = {"fixed": f"{2000 * ACCESS_S:g} ms"}
NO_USERS = {"per_side": 0, "delay_at": "split"}
"""No web users; the delay of the other links is the same in both directions."""


def sessions(name: str, number: int, **where: Any) -> list[dict[str, Any]]:
    """Return HTTP sessions, each a source: clients on side 0, servers on side 1."""
    names = [name] if number == 1 else [f"{name}/{each}" for each in range(1, number + 1)]
    return [{"transfers": {"name": each, "rate_per_second": [1 / PAGE_EVERY_S, 0], **PAGE, **where}} for each in names]


def web(queue: Mapping[str, Any], protocol: Protocol, *, queue_every: str = "10 ms") -> Experiment:
    """Return the simple web configuration: 20 HTTP sessions and UDP at half the rate of the bottleneck."""
    return Experiment(
        link={"rate": "100 kbit/s", "delay": "10 ms", **IDEAL},
        queue=queue,
        hosts=HOSTS,
        tcp=TCP,
        users=NO_USERS,
        sources=[
            *sessions("http", 20, rtt=RTT),
            {"datagrams": {"name": "udp", "side": 1, "rate": "50 kbit/s", "packet": "1000 B"}},
        ],
        protocol=protocol,
        record={"queue_every": queue_every, "exchanges": True},
    )


def ftp(queue: Mapping[str, Any], protocol: Protocol) -> Experiment:
    """Return the simple FTP configuration: 100 endless transfers through 1 Mbit/s.

    Each has a machine of its own, where the paper has four senders with 25 transfers each; at a hundred times the rate
    of the bottleneck that makes no difference.
    """
    return Experiment(
        link={"rate": "1 Mbit/s", "delay": "10 ms", **IDEAL},
        queue=queue,
        hosts=HOSTS,
        tcp=TCP,
        users=NO_USERS,
        sources=[{"bulk": {"name": "ftp", "flows": 100, "rtt": RTT}}],
        protocol=protocol,
    )
