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


_CODEL = {**LINUX, "mtu": "1514 B", "limit": "1000 packets"}

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
)
"""The comparisons, in the order of the page."""
