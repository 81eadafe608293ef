"""The comparisons: a discipline of the kernel as ``tc`` takes it, and ours with the same parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LINUX = {"variant": "linux"}


@dataclass(frozen=True)
class Comparison:
    """A discipline of the kernel and ours."""

    name: str
    tc: str
    """The kernel's discipline, as ``tc`` takes it; ``{rate}`` is the rate of a pattern's line."""
    law: str
    """The name of ours."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Our parameters."""
    ecn: bool = False
    """True if both mark ECN-capable packets."""
    segments: bool = False
    """True if the packets are segments of TCP, most of them acknowledgements."""
    loss: float | Mapping[str, Any] | None = None
    """The losses before our discipline, as a spec has them."""
    slowest: str | None = None
    """The lowest rate at which they send, if it may be below the line's."""


_CODEL = {**LINUX, "mtu": "1514 B", "limit": "1000 packets"}

_FQ_CODEL = {**LINUX, "mtu": "1514 B", "flows": 1024, "memory_limit": "32 MiB"}

_FQ_PIE = {**LINUX, "mean_packet": "1514 B", "flows": 1024}

_SFQ = {**LINUX, "flows": 1024}

_RED_BASE = {**LINUX, "min_th": 5, "max_th": 30, "w_q": 0.015625, "max_p": 0.1, "mean_packet": "1000 B"}

_CHOKE_TC = "limit 300 min 5 max 30 avpkt 1000 burst 20 probability 0.1 bandwidth {rate}"
_CHOKE = {**_RED_BASE, "limit": "300 packets"}

_RED_TC = "limit 400000 min 5000 max 30000 avpkt 1000 burst 20 probability 0.1 bandwidth {rate}"
_RED = {**_RED_BASE, "limit": "400 kB"}

_PIE = {**LINUX, "mean_packet": "1514 B", "limit": "1000 packets"}

_NETEM = {"limit": "1000 packets"}

_SFB_TC = "limit 1000 max 25 target 20 increment 0.001 decrement 0.000167 penalty_rate 10 penalty_burst 20"
_SFB_STEEP_TC = "limit 120 max 40 target 5 increment 0.1 decrement 0.01 penalty_rate 25 penalty_burst 4"
_SFB = {**LINUX, "limit": "1000 packets"}
_SFB_STEEP = {
    **LINUX,
    "limit": "120 packets",
    "max": 40,
    "bin_size": 5,
    "increment": 0.1,
    "decrement": 0.01,
    "penalty_rate": 25,
    "penalty_burst": 4,
}

_CAKE = {**LINUX, "diffserv": "besteffort", "isolation": "flowblind"}

COMPARISONS = (
    Comparison("pfifo", "pfifo limit 50", "droptail", {"limit": "50 packets"}),
    Comparison("bfifo", "bfifo limit 30000", "droptail", {"limit": "30000 B"}),
    Comparison("pfifo-head", "pfifo_head_drop limit 50", "droptail", {"limit": "50 packets", "drop": "head"}),
    Comparison("codel", "codel", "codel", _CODEL),
    Comparison("codel-ecn", "codel ecn", "codel", _CODEL, ecn=True),
    Comparison(
        "codel-short",
        "codel limit 60 target 1ms interval 20ms ecn",
        "codel",
        {**_CODEL, "limit": "60 packets", "target": "1 ms", "interval": "20 ms"},
        ecn=True,
    ),
    Comparison("codel-threshold", "codel ce_threshold 1ms ecn", "codel", {**_CODEL, "ce_threshold": "1 ms"}, ecn=True),
    Comparison("pie", "pie", "pie", _PIE),
    Comparison("pie-ecn", "pie ecn", "pie", _PIE, ecn=True),
    Comparison(
        "pie-slow",
        "pie target 20ms tupdate 31ms alpha 1 beta 2 ecn",
        "pie",
        {**_PIE, "qdelay_ref": "20 ms", "t_update": "31 ms", "alpha": 0.0625, "beta": 0.125},
        ecn=True,
    ),
    Comparison("pie-rate", "pie dq_rate_estimator ecn", "pie", {**_PIE, "delay_from": "rate_estimate"}, ecn=True),
    Comparison("fq_codel", "fq_codel noecn", "fq_codel", _FQ_CODEL),
    Comparison("fq_codel-ecn", "fq_codel", "fq_codel", _FQ_CODEL, ecn=True),
    Comparison(
        "fq_codel-short",
        "fq_codel limit 120 flows 8 quantum 300 target 1ms interval 20ms drop_batch 8",
        "fq_codel",
        {
            **_FQ_CODEL,
            "limit": "120 packets",
            "flows": 8,
            "quantum": "300 B",
            "drop_batch": 8,
            "target": "1 ms",
            "interval": "20 ms",
        },
        ecn=True,
    ),
    Comparison(
        "fq_codel-threshold",
        "fq_codel ce_threshold 2ms ce_threshold_selector 0x1/0x3",
        "fq_codel",
        {**_FQ_CODEL, "ce_threshold": "2 ms", "ce_threshold_selector": "ect1"},
        ecn=True,
    ),
    Comparison(
        "fq_codel-memory",
        "fq_codel flows 8 memory_limit 60000 drop_batch 4",
        "fq_codel",
        {**_FQ_CODEL, "flows": 8, "memory_limit": "60000 B", "drop_batch": 4},
        ecn=True,
    ),
    Comparison("fq_codel-collisions", "fq_codel flows 5", "fq_codel", {**_FQ_CODEL, "flows": 5}, ecn=True),
    Comparison("fq_pie", "fq_pie", "fq_pie", _FQ_PIE),
    Comparison(
        "fq_pie-short",
        "fq_pie limit 300 flows 8 quantum 300 target 5ms tupdate 31ms alpha 1 beta 2 ecn_prob 60 ecn",
        "fq_pie",
        {
            **_FQ_PIE,
            "limit": "300 packets",
            "flows": 8,
            "quantum": "300 B",
            "mark_ecnth": 0.6,
            "qdelay_ref": "5 ms",
            "t_update": "31 ms",
            "alpha": 0.0625,
            "beta": 0.125,
        },
        ecn=True,
    ),
    Comparison("fq_pie-collisions", "fq_pie flows 5", "fq_pie", {**_FQ_PIE, "flows": 5}),
    Comparison("cake", "cake besteffort flowblind", "cake", _CAKE, ecn=True),
    Comparison(
        "cake-shaped",
        "cake besteffort flowblind bandwidth 4mbit",
        "cake",
        {**_CAKE, "bandwidth": "4 Mbit/s"},
        ecn=True,
        slowest="2 Mbit/s",
    ),
    Comparison(
        "cake-atm",
        "cake besteffort flowblind bandwidth 2mbit pppoe-llcsnap rtt 30ms",
        "cake",
        {**_CAKE, "bandwidth": "2 Mbit/s", "link_layer": "pppoe-llcsnap", "rtt": "30 ms"},
        ecn=True,
        slowest="500 kbit/s",
    ),
    Comparison(
        "cake-ptm",
        "cake besteffort flowblind bandwidth 900kbit bridged-ptm ether-vlan mpu 120 metro",
        "cake",
        {
            **_CAKE,
            "bandwidth": "900 kbit/s",
            "link_layer": "bridged-ptm",
            "ether_vlan": 1,
            "mpu": "120 B",
            "rtt": "metro",
        },
        ecn=True,
        slowest="200 kbit/s",
    ),
    Comparison(
        "cake-ingress",
        "cake besteffort flowblind bandwidth 3mbit ingress docsis",
        "cake",
        {**_CAKE, "bandwidth": "3 Mbit/s", "ingress": True, "link_layer": "docsis"},
        ecn=True,
        slowest="1 Mbit/s",
    ),
    Comparison(
        "cake-ack-filter",
        "cake besteffort flowblind bandwidth 1mbit ack-filter",
        "cake",
        {**_CAKE, "bandwidth": "1 Mbit/s", "ack_filter": "ack-filter"},
        ecn=True,
        segments=True,
        slowest="400 kbit/s",
    ),
    Comparison(
        "cake-ack-filter-aggressive",
        "cake besteffort flowblind bandwidth 500kbit ack-filter-aggressive ingress ethernet",
        "cake",
        {
            **_CAKE,
            "bandwidth": "500 kbit/s",
            "ack_filter": "ack-filter-aggressive",
            "ingress": True,
            "link_layer": "ethernet",
        },
        ecn=True,
        segments=True,
        slowest="150 kbit/s",
    ),
    Comparison("red", f"red {_RED_TC}", "red", _RED),
    Comparison("red-adaptive", f"red adaptive {_RED_TC}", "red", _RED),
    Comparison("red-ecn", f"red {_RED_TC} ecn", "red", {**_RED, "ecn_policy": "mark"}, ecn=True),
    Comparison("red-harddrop", f"red {_RED_TC} ecn harddrop", "red", _RED, ecn=True),
    Comparison("sfq", "sfq", "sfq", _SFQ),
    Comparison("sfq-collisions", "sfq divisor 4", "sfq", {**_SFQ, "flows": 4}),
    Comparison(
        "sfq-short",
        "sfq limit 60 depth 12 divisor 8 quantum 300",
        "sfq",
        {**_SFQ, "limit": "60 packets", "depth": 12, "flows": 8, "quantum": "300 B"},
    ),
    Comparison(
        "sfq-headdrop",
        "sfq limit 60 depth 20 divisor 8 quantum 600 headdrop",
        "sfq",
        {**_SFQ, "limit": "60 packets", "depth": 20, "flows": 8, "quantum": "600 B", "drop": "head"},
    ),
    Comparison("choke", f"choke {_CHOKE_TC}", "choke", _CHOKE),
    Comparison("choke-ecn", f"choke {_CHOKE_TC} ecn", "choke", {**_CHOKE, "ecn_policy": "mark"}, ecn=True),
    Comparison("sfb", f"sfb {_SFB_TC}", "sfb", _SFB, ecn=True),
    Comparison(
        "sfb-steep",
        f"sfb rehash 2000 db 900 {_SFB_STEEP_TC}",
        "sfb",
        {**_SFB_STEEP, "rehash_interval": "2 s", "warmup_time": "900 ms"},
        ecn=True,
    ),
    Comparison(
        "sfb-moving",
        f"sfb rehash 700 db 0 {_SFB_STEEP_TC}",
        "sfb",
        {**_SFB_STEEP, "rehash_interval": "700 ms", "warmup_time": "0 s", "hashing": "moving"},
        ecn=True,
    ),
    Comparison("netem", "netem limit 1000 loss random 5%", "droptail", _NETEM, loss=0.05),
    Comparison(
        "netem-gilbert",
        "netem limit 1000 loss gemodel 1% 20%",
        "droptail",
        _NETEM,
        loss={"gilbert_elliott": {"p": 0.01, "r": 0.2, "change": "after"}},
    ),
    Comparison(
        "netem-gilbert-elliott",
        "netem limit 1000 loss gemodel 2% 10% 70% 1%",
        "droptail",
        _NETEM,
        loss={"gilbert_elliott": {"p": 0.02, "r": 0.1, "h": 0.3, "k": 0.99, "change": "after"}},
    ),
    Comparison(
        "netem-state",
        "netem limit 1000 loss state 2% 10% 30% 50% 1%",
        "droptail",
        _NETEM,
        loss={"four_state": {"p13": 0.02, "p31": 0.1, "p32": 0.3, "p23": 0.5, "p14": 0.01}},
    ),
)
"""The comparisons, in the order of the page."""
