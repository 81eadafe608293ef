"""The cases: the web scenario at two loads and two cases of long flows, the same in every program.

benches/peers/README.md says where each value is from; the ns-2 and ns-3 drivers hold the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import arrivals

LIMIT_PACKETS = 240
BOTTLENECK_DELAY_MS = 1.0

PER_SECOND = {90: 1515.0, 98: 1645.0}
"""Transfers a second in each direction for a load in percent of 100 Mbit/s."""

TRACE_S = 60.0

WEB_QUEUES = {
    "droptail": ("ns-2", "ns-3"),
    "red": ("ns-2", "ns-3"),
    "ared": ("ns-2", "ns-3"),
    "pi": ("ns-2",),
    "rem": ("ns-2",),
    "codel": ("ns-3",),
    "pie": ("ns-3",),
}
"""The peers that have each queue discipline, beside aqmlab."""

LONG_QUEUES = {**WEB_QUEUES, "avq": ("ns-2",)}

RED: dict[str, Any] = {
    "min_th": 60,
    "max_th": 180,
    "w_q": 1 / 16384,
    "max_p": 0.1,
    "mode": "packet",
    "mean_packet": "500 B",
    # Both peers wait by default (`wait_`, `Wait`).
    "spacing": "wait",
}

QUEUES: dict[str, dict[str, Any]] = {
    "droptail": {"droptail": {}},
    "red": {"red": {**RED, "gentle": True}},
    "ared": {"ared": RED},
    "pi": {"pi": {"q_ref": 24, "a": 1.822e-5, "b": 1.816e-5, "sampling_hz": 170, "mode": "packet"}},
    # ns-2's defaults.
    "rem": {"rem": {"q_ref": 20, "mode": "packet", "mean_packet": "1000 B"}},
    "avq": {"avq": {"mean_packet": "1000 B"}},
    # ns-3's defaults.
    "codel": {"codel": {"sqrt": "newton16"}},
    "pie": {"pie": {"max_burst": "15 ms", "derandomize": False, "mean_packet": "1000 B"}},
}

ON_THE_WEB: dict[str, dict[str, Any]] = {"rem": {"mean_packet": "500 B"}}
"""Parameters that differ under the web scenario, whose packets have some 490 bytes.

Where REM takes them for 1,000 bytes, a link that sends all it can looks twice overloaded.
In both programs REM then drops a quarter of all packets.
"""

TCP: dict[str, Any] = {
    "profile": "ns2-newreno",
    "mss": 1460,
    "initial_window": 2,
    "ack_every": 2,
    "delayed_ack": "100 ms",
    "nagle": False,
    "initial_rto": "3 s",
    "min_rto": "200 ms",
    "max_rto": "60 s",
    "tick": "10 ms",
}
WEB_SEGMENTS, UNSCALED_SEGMENTS, UNLIMITED_SEGMENTS = 11, 44, 20_000
"""Receive windows. The second is the most that a segment can say without scaling."""
LONG_ACK_EVERY = {"ns-2": 1, "ns-3": 2}
"""Segments for each acknowledgement of a long flow, by peer. With one a window that grows by acknowledgements (ns-2,
ns-3) and one that grows by bytes acknowledged (RFC 3465, aqmlab) grow alike; ns-3.37 then falls into timeouts."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """The measured part of a run, in simulated seconds."""

    warm_s: float
    begun_until_s: float
    """Response times are of the transfers begun from ``warm_s`` until then and complete at the end."""
    stop_s: float


@dataclass(frozen=True, kw_only=True)
class Case:
    """One queue discipline under one traffic."""

    traffic: str
    """``web 90`` or ``web 98`` by load; ``1 flow``, ``20 flows``, or ``20 flows of 44`` segments at most in flight."""
    queue: str
    peers: tuple[str, ...]
    windows: dict[str, Window]
    """By peer; aqmlab is measured over each of them."""
    rate_mbps: int = 100
    limit: int = LIMIT_PACKETS
    window_segments: int = WEB_SEGMENTS
    rtts_ms: tuple[float, ...] = ()
    """Of the long flows."""
    load_percent: int | None = None
    """Of the web scenario."""
    timed: bool = True

    @property
    def name(self) -> str:
        """The case's name on the command line."""
        return f"{self.traffic} {self.queue}"


def cases() -> list[Case]:
    """Return all cases, in the order of the report."""
    web_windows = {
        "ns-2": Window(warm_s=20, begun_until_s=50, stop_s=TRACE_S),
        "ns-3": Window(warm_s=2, begun_until_s=12, stop_s=15),
    }
    web = [
        # The cost of a discipline is lost in the time that ns-2 and ns-3 spend on a transfer: drop-tail represents all.
        Case(
            traffic=f"web {load}",
            load_percent=load,
            queue=queue,
            peers=peers,
            windows=web_windows,
            timed=queue == "droptail",
        )
        for load in PER_SECOND
        for queue, peers in WEB_QUEUES.items()
    ]
    peers = ("ns-2", "ns-3")
    single = Case(
        traffic="1 flow",
        queue="droptail",
        peers=peers,
        windows=dict.fromkeys(peers, Window(warm_s=20, begun_until_s=20, stop_s=120)),
        rate_mbps=10,
        limit=50,
        window_segments=UNLIMITED_SEGMENTS,
        rtts_ms=(40.0,),
    )
    twenty = Case(
        traffic="20 flows",
        queue="droptail",
        peers=peers,
        windows=dict.fromkeys(peers, Window(warm_s=50, begun_until_s=50, stop_s=250)),
        window_segments=UNLIMITED_SEGMENTS,
        rtts_ms=tuple(float(rtt) for rtt in range(20, 211, 10)),
    )
    # Without the long recoveries of windows that slow start drove far beyond the link; half the rate congests it.
    bounded = replace(twenty, traffic="20 flows of 44", rate_mbps=50, window_segments=UNSCALED_SEGMENTS)
    long = [replace(twenty, queue=queue, peers=peers) for queue, peers in LONG_QUEUES.items()]
    long += [replace(bounded, queue=queue, peers=("ns-2",)) for queue, peers in LONG_QUEUES.items() if "ns-2" in peers]
    return [*web, single, *long]


def experiment(case: Case, window: Window, trace: str, tcp: dict[str, Any] | None = None) -> dict[str, Any]:
    """Describe a case to aqmlab.

    A round-trip time there is what is added to the delay of the link.
    """
    ((queue, parameters),) = QUEUES[case.queue].items()
    web = not case.rtts_ms
    if web:
        parameters = parameters | ON_THE_WEB.get(case.queue, {})
    receiver = {
        "receive_window": case.window_segments * TCP["mss"],
        "window_scaling": case.window_segments > UNSCALED_SEGMENTS,
    }
    return {
        "link": {
            "rate": f"{case.rate_mbps} Mbit/s",
            "delay": f"{BOTTLENECK_DELAY_MS:g} ms",
            "overhead": "0 B",
            "device_fifo": 0,
        },
        "queue": {queue: {**parameters, "limit": case.limit}},
        "hosts": {"servers_per_side": arrivals.PAIRS, "rate": "1 Gbit/s"},
        "tcp": {**TCP, **receiver, **(tcp or {})},
        "users": {"per_side": 0},
        "sources": [{"pair_trace": _pair_trace(trace)}] if web else [{"bulk": flow} for flow in _flows(case.rtts_ms)],
        "protocol": {"warmup": f"{window.warm_s:g} s", "duration": f"{window.stop_s - window.warm_s:g} s"},
        "record": {"exchanges": web},
    }


def _pair_trace(trace: str) -> dict[str, Any]:
    rtts = [_beyond_the_link(rtt) for rtt in arrivals.rtts_ms()]
    return {"text": trace, "rtt": rtts, "request": f"{arrivals.REQUEST_BYTES} B"}


def _flows(rtts_ms: tuple[float, ...]) -> list[dict[str, Any]]:
    """Each starts a tenth of a second after the one before and sends from side 0 to side 1."""
    return [
        {
            "name": f"flow {number}",
            "flows": 1,
            "direction": "upload",
            "rtt": {"fixed": _beyond_the_link(rtt)},
            "start": f"{100 * number} ms",
            "spread": "0 s",
        }
        for number, rtt in enumerate(rtts_ms)
    ]


def _beyond_the_link(rtt_ms: float) -> str:
    return f"{rtt_ms - 2 * BOTTLENECK_DELAY_MS:g} ms"
