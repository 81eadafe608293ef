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
)
"""The comparisons, in the order of the page."""
