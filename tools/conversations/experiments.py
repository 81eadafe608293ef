"""The conversations: experiments of one flow each, which show one mechanism of TCP after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aqmlab.spec.experiment import Experiment


@dataclass(frozen=True)
class Talk:
    """An upload by one flow over 10 Mbit/s and a base round-trip time of 20 ms, and its changes."""

    name: str
    shows: str
    bytes: str = "1 MB"
    drop: str = ""
    mark: str = ""
    drop_back: str = ""
    rtt: str = "10 ms"
    link: Mapping[str, Any] = field(default_factory=dict)
    tcp: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] | None = None
    duration: str = "10 s"

    def experiment(self) -> Experiment:
        """Return the experiment."""
        upload = {
            "bulk": {
                "flows": 1,
                "direction": "upload",
                "bytes": self.bytes,
                "start": "100 ms",
                "spread": "0 s",
                "rtt": {"fixed": self.rtt},
            }
        }
        return Experiment(
            link={"rate": "10 Mbit/s", "delay": "5 ms", "device_fifo": 0, **self.link},
            queue={"scripted": {"drop": self.drop, "mark": self.mark}},
            queue_back={"scripted": {"drop": self.drop_back}},
            tcp=dict(self.tcp),
            users={"per_side": 0},
            sources=[self.source or upload],
            protocol={"warmup": "0 s", "duration": self.duration},
        )


_FAST = {"rate": "100 Mbit/s"}
_PAUSES = {
    "on_off": {
        "flows": 1,
        "size": {"fixed": "100 kB"},
        "off": {"fixed": "1 s"},
        "start": "100 ms",
        "spread": "0 s",
        "rtt": {"fixed": "10 ms"},
    }
}

TALKS = (
    Talk("handshake", "handshake, initial window, FIN", bytes="10 kB"),
    Talk("slow-start", "slow start and quick acknowledgements", bytes="100 kB"),
    Talk("hystart", "the end of slow start by HyStart, growth of CUBIC"),
    Talk("fast-link", "the same at 100 Mbit/s and 40 ms", bytes="10 MB", link=_FAST, rtt="30 ms"),
    Talk("first-segment", "loss of the first data segment", bytes="100 kB", drop="3"),
    Talk("one-loss", "loss in slow start: RACK, PRR", drop="40"),
    Talk("three-losses", "three losses in a window", drop="40 43 50"),
    Talk("burst-loss", "loss of ten segments in a row", drop="60-69"),
    Talk("lost-retransmission", "loss of a segment and of its retransmission", drop="40 82"),
    Talk("later-loss", "loss in congestion avoidance: reduction and growth of CUBIC", bytes="3 MB", drop="400"),
    Talk("two-reductions", "losses in two windows: fast convergence", bytes="4 MB", drop="400 700"),
    Talk("tail-loss", "loss of the last segment: tail loss probe", bytes="20 kB", drop="16"),
    Talk("flight-loss", "loss of the initial window: retransmission timeout", bytes="20 kB", drop="3-12"),
    Talk("repeated-timeout", "loss of the initial window and of three retransmissions", bytes="20 kB", drop="3-15"),
    Talk("syn-loss", "loss of the SYN", bytes="10 kB", drop="1"),
    Talk("syn-ack-loss", "loss of the SYN/ACK", bytes="10 kB", drop_back="1"),
    Talk("handshake-ack-loss", "loss of the acknowledgement that completes the handshake", bytes="10 kB", drop="2"),
    Talk("fin-loss", "loss of the segment with FIN", bytes="10 kB", drop="9"),
    Talk("ack-losses", "loss of every acknowledgement of a window", bytes="100 kB", drop_back="2-11"),
    Talk("late-ack-losses", "loss of 20 acknowledgements in a row", bytes="1 MB", drop_back="60-79"),
    Talk(
        "spurious-timeout",
        "a link that stalls for a second: F-RTO, Eifel",
        bytes="300 kB",
        link={
            "rate_changes": [{"at": "200 ms", "rate": "10 kbit/s"}, {"at": "1400 ms", "rate": "10 Mbit/s"}],
        },
    ),
    Talk("ecn-mark", "one mark (RFC 3168)", tcp={"ecn": True}, mark="40"),
    Talk("ecn-marks", "marks in three windows", bytes="3 MB", tcp={"ecn": True}, mark="40 300-310 900"),
    Talk("pauses", "bursts of 100 kB with pauses of a second: idle restart", source=_PAUSES, duration="5 s"),
    Talk("window", "a receive window of 30 kB", tcp={"receive_window": 30000, "window_scaling": False}),
    Talk("reno", "Reno without loss", bytes="1 MB", tcp={"congestion": "reno"}),
    Talk("reno-loss", "Reno with two losses", bytes="3 MB", tcp={"congestion": "reno"}, drop="100 600"),
    Talk(
        "dctcp",
        "DCTCP with marks in three windows",
        bytes="3 MB",
        tcp={"congestion": "dctcp", "ecn": "dctcp"},
        mark="40 300-310 900",
    ),
    Talk("bbr", "BBR, which is version 1 in Linux and 3 here", tcp={"congestion": "bbr"}),
)
"""The conversations, in the order of the page."""
