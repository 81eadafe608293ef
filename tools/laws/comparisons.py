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
    """The kernel's discipline, as ``tc`` takes it."""
    law: str
    """The name of ours."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Our parameters."""
    ecn: bool = False
    """True if both mark ECN-capable packets."""

    @property
    def queues(self) -> int | None:
        """The number of queues that flows are hashed to, if there are several."""
        return self.parameters.get("flows")


_CODEL = {**LINUX, "mtu": "1514 B", "limit": "1000 packets"}

_FQ_CODEL = {**LINUX, "mtu": "1514 B", "flows": 1024}

_FQ_PIE = {**LINUX, "mean_packet": "1514 B", "flows": 1024}

_PIE = {**LINUX, "mean_packet": "1514 B", "limit": "1000 packets"}

COMPARISONS = (
    Comparison("pfifo", "pfifo limit 50", "droptail", {"limit": "50 packets"}),
    Comparison("bfifo", "bfifo limit 30000", "droptail", {"limit": "30000 B"}),
    Comparison("codel", "codel", "codel", _CODEL),
    Comparison("codel-ecn", "codel ecn", "codel", _CODEL, ecn=True),
    Comparison(
        "codel-short",
        "codel limit 60 target 1ms interval 20ms ecn",
        "codel",
        {**_CODEL, "limit": "60 packets", "target": "1 ms", "interval": "20 ms"},
        ecn=True,
    ),
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
)
"""The comparisons, in the order of the page."""
