"""Scenarios of RFC 7928: traffic over a link of 10 Mbit/s, section by section.

Numbers that the RFC leaves open are our choice, or those of ns-3's AQM evaluation suite (Deepak, Shravya and Tahiliani
2017), and are marked so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aqmlab._core import bits_per_second
from aqmlab.spec.experiment import Experiment, Hosts, Link, Protocol, Record, Tcp, Users
from aqmlab.spec.schemes import Scheme
from aqmlab.studies.rfc7928.schemes import with_room

RATE = "10 Mbit/s"
"""Ours: an access link, on which a packet of 1,500 bytes takes 1.2 ms; an hour of it is simulated in seconds."""

RTT_MS = 100
"""Section 6 calls it the reference; here all flows have it where the scenario is not about round trips."""

LINK: Mapping[str, Any] = {"rate": RATE, "device_fifo": 0}
"""An ideal link, without a queue below the discipline."""

NEWRENO = {"profile": "linux-6", "congestion": "reno", "ecn_fallback": False}
"""The TCP-friendly sender: NewReno with today's loss recovery. Slow start ends by loss or mark as in RFC 5681: in Linux
HyStart is CUBIC's. Where hosts have ECN all flows do: with the fallback one whose SYN/ACK is lost among the slow starts
of the others would stay without it for good."""

CUBIC = {"profile": "linux-6", "congestion": "cubic"}
"""The aggressive sender of section 5.2, as Linux has it."""

MILD, MEDIUM, HEAVY = 3, 7, 10
"""Long flows at which drop-tail loses about 0.1, 0.5 and 1 % (sections 8.2.2 to 8.2.4): measured here with drop-tail,
as the RFC defines the levels. The suite's 0.02, 0.06 and 0.114 times the bandwidth-delay product would be 2, 5 and 9,
which lose less."""

OTHER_RTTS_MS = (5, 10, 20, 50, 100, 200, 400, 560)
"""The round trips that section 6 sets against 100 ms: its range, 5 to 560 ms, with fewer steps than the suite's 15."""

PAGE = "146 kB"
"""Ours: 100 full segments, for which an initial window of 10 takes four round trips."""

STEP_S = 20
"""The time that the load of section 8.2.5 stays as it is, in the RFC and in the suite."""

_GOODPUT = 10e6 * 1448 / 1538
"""Highest goodput of the link in bit/s: 1,448 bytes in a frame that takes 1,538 on the wire."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Traffic of a section of RFC 7928, with its network."""

    name: str
    section: str
    """Section of RFC 7928."""
    title: str
    sources: tuple[Mapping[str, Any], ...]
    tcp: Mapping[str, Any] = field(default_factory=lambda: NEWRENO)
    rtt_ms: int = RTT_MS
    """The largest round trip, which sizes the buffer (section 3)."""
    protocol: Protocol | None = None
    """Duration of a scenario with its own schedule."""
    times: int = 1
    """Factor by which it is longer than the others."""
    link: Mapping[str, Any] = field(default_factory=dict)
    """Differences from the study's link."""
    chain: tuple[Mapping[str, Any], ...] = ()
    """Links in series instead of the one link, each with the discipline."""
    depth: int = 1
    """The buffer, as a multiple of the bandwidth-delay product."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Records beyond the queue and the link."""
    host_rate: str = "100 Mbit/s"
    """Ten times that of the link: a slower host would be the bottleneck."""

    @property
    def room(self) -> int:
        """The buffer of every discipline in packets of 1,500 bytes: the bandwidth-delay product, rounded up.

        With a varying rate it is that of the first rate, which is the highest.
        """
        bits = self.depth * self.rtt_ms * bits_per_second(self.link.get("rate", RATE)) // 1000
        return -(-bits // 12_000)

    def experiment(self, scheme: Scheme, protocol: Protocol) -> Experiment:
        """Return the scenario under a discipline."""
        experiment = Experiment(
            link=[{**LINK, **link} for link in self.chain] or Link.model_validate({**LINK, **self.link}),
            hosts=Hosts(rate=self.host_rate),
            tcp=Tcp.model_validate(self.tcp),
            users=Users(per_side=0),
            sources=self.sources,
            protocol=self.protocol or protocol,
            record=Record.model_validate(self.record),
        )
        return with_room(scheme, self.room).apply_to(experiment)


def bulk(flows: int, *, name: str = "long", rtt_ms: int = RTT_MS, **others: Any) -> dict[str, Any]:
    """Return long downloads."""
    return {"bulk": {"name": name, "flows": flows, "rtt": {"fixed": f"{rtt_ms} ms"}, **others}}


def pages(per_second: float) -> dict[str, Any]:
    """Return web pages: a connection for each, at random times."""
    rtt = {"fixed": f"{RTT_MS} ms"}
    return {"transfers": {"name": "short", "rate_per_second": [per_second, 0], "size": {"fixed": PAGE}, "rtt": rtt}}


def datagrams(name: str, rate: str, packet: str, **others: Any) -> dict[str, Any]:
    """Return UDP in the direction of the data."""
    return {"datagrams": {"name": name, "side": 1, "rate": rate, "packet": packet, **others}}


VOICE = datagrams("voice", "87 kbit/s", "218 B")
"""87 kbit/s as in section 9.1: a packet in 20 ms, as G.711 has it."""

CBR = datagrams("cbr", "1 Mbit/s", "1250 B")
"""Unresponsive; its rate is ours."""

VIDEO = datagrams("video", "40 Mbit/s", "1250 B", bursts={"on": {"fixed": "2 ms"}, "off": {"fixed": "38 ms"}})
"""Bursty video (section 7): 25 frames a second of 10 kB, each sent faster than the link can; 2 Mbit/s. Ours."""

ADAPTIVE = {
    "on_off": {
        "name": "adaptive",
        "flows": 1,
        "size": {"fixed": "1 MB"},
        "off": {"fixed": "2 s"},
        "rtt": {"fixed": f"{RTT_MS} ms"},
    }
}
"""Adaptive video over TCP, in its stead: chunks of 1 MB with pauses of 2 s, however long they take. Our choice."""

SENDERS = (
    Scenario(
        name="same-iw",
        section="5.1.1",
        title="NewReno, equal initial windows",
        sources=(bulk(1), pages(1)),
    ),
    Scenario(
        name="diff-iw",
        section="5.1.2",
        title="NewReno, initial windows of 10 and 3",
        sources=(bulk(1), pages(1)),
        tcp={**NEWRENO, "mix": [{"share": 0.5, "role": "server", "initial_window": 3}]},
    ),
    Scenario(name="cubic", section="5.2", title="CUBIC", sources=(bulk(1),), tcp=CUBIC),
    Scenario(
        name="udp",
        section="5.3.1",
        title="UDP at 120 % of the link",
        sources=(datagrams("udp", "12 Mbit/s", "1500 B"),),
    ),
    Scenario(
        name="udp-tcp",
        section="5.3.2",
        title="UDP at 80 % and NewReno",
        sources=(bulk(1), datagrams("udp", "8 Mbit/s", "1500 B")),
    ),
)
"""Section 5: one kind of sender after the other. UDP's shares of the link are ours, and the suite's in 5.3.2."""

ALONE = Scenario(
    name="alone",
    section="5.3.2",
    title="NewReno alone on its share",
    sources=(bulk(1),),
    link={"rate": "5 Mbit/s"},
)
"""Half of the link, for what a flow is to get beside one that does not respond."""

FAIRNESS = tuple(
    Scenario(
        name=f"rtt-{rtt_ms}",
        section="6",
        title=f"{rtt_ms} against {RTT_MS} ms",
        sources=(bulk(1, name="reference"), bulk(1, name="other", rtt_ms=rtt_ms)),
        rtt_ms=max(rtt_ms, RTT_MS),
        times=2,
    )
    for rtt_ms in OTHER_RTTS_MS
)
"""Section 6. A long flow of each class, for twice the time, both as in the suite."""

BURSTS = (
    Scenario(name="burst-1", section="7", title="I: web, CBR", sources=(pages(2), CBR)),
    Scenario(name="burst-2", section="7", title="II: web, CBR, bulk", sources=(pages(2), CBR, bulk(1))),
    Scenario(name="burst-3", section="7", title="III: video, web, CBR", sources=(VIDEO, pages(2), CBR)),
    Scenario(name="burst-4", section="7", title="IV: video, web, CBR, bulk", sources=(VIDEO, pages(2), CBR, bulk(1))),
)
"""Section 7's four cases. Pages begin with an initial window of 10, which is the burst."""

LEVELS = tuple(
    Scenario(
        name=name,
        section=section,
        title=f"{name}: {flows} long flows",
        sources=(bulk(flows),),
        record={"losses": True},
    )
    for name, section, flows in (("mild", "8.2.2", MILD), ("medium", "8.2.3", MEDIUM), ("heavy", "8.2.4", HEAVY))
)

START_UP = Scenario(
    name="start-up",
    section="2.2",
    title=f"a segment for each connection, beside {MEDIUM} long flows",
    sources=(
        bulk(MEDIUM),
        {
            "transfers": {
                "name": "first",
                "rate_per_second": [2, 0],
                "size": {"fixed": "1 kB"},
                "rtt": {"fixed": f"{RTT_MS} ms"},
            }
        },
    ),
    record={"exchanges": True},
)
"""Section 2.2's start-up time, measured by responses of one segment: their response time. Our choice."""

VARYING = Scenario(
    name="varying",
    section="8.2.5",
    title="load from mild to medium to heavy and back",
    sources=(
        bulk(MILD),
        bulk(
            MEDIUM - MILD,
            name="to medium",
            start=f"{STEP_S} s",
            bytes=f"{STEP_S * _GOODPUT / 8 * (1 / MEDIUM + 1 / HEAVY):.0f} B",
        ),
        bulk(
            HEAVY - MEDIUM,
            name="to heavy",
            start=f"{2 * STEP_S} s",
            bytes=f"{STEP_S * _GOODPUT / 8 / HEAVY:.0f} B",
        ),
    ),
    protocol=Protocol(warmup="0 s", duration=f"{5 * STEP_S} s"),
)
"""Flows come and go as downloads do: those that came have what a fair share gives them until 60 s."""

_MIXES = (
    ("I: voice, web", ()),
    ("II: and 1 bulk", (bulk(1),)),
    ("III: and 5 bulk", (bulk(5),)),
    ("IV: and CBR, 5 bulk", (CBR, bulk(5))),
    ("V: and adaptive video, 5 bulk", (ADAPTIVE, bulk(5))),
)
MIXES = tuple(
    Scenario(name=f"mix-{n}", section="9.1", title=title, sources=(VOICE, pages(1), *others))
    for n, (title, others) in enumerate(_MIXES, start=1)
)
"""Section 9.1's five cases."""

TWO_WAY = Scenario(
    name="two-way",
    section="9.2",
    title="5 bulk each way, voice",
    sources=(VOICE, bulk(5), bulk(5, name="back", side=1)),
)
"""Section 9.2: acknowledgements share the queue with the data of the other way."""

ALL = (*SENDERS, *FAIRNESS, *BURSTS, *LEVELS, START_UP, VARYING, *MIXES, TWO_WAY)
