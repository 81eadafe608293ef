"""The comparisons: a discipline of the kernel as ``tc`` takes it, and ours with the same parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aqmlab import data_file


@dataclass(frozen=True)
class Comparison:
    """A discipline of the kernel and ours."""

    name: str
    tc: str
    """The kernel's discipline, as ``tc`` takes it; ``{rate}`` is the rate of a pattern's line."""
    law: str = ""
    """The name of ours."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Our parameters."""
    ecn: bool = False
    """True if both mark ECN-capable packets."""
    segments: bool = False
    """True if the packets are segments of TCP, most of them acknowledgements."""
    loss: float | Mapping[str, Any] | None = None
    """The losses before our discipline, as a spec has them."""
    since: str = ""
    """The first kernel that has the discipline, if that is not the oldest that we build."""
    slowest: str | None = None
    """The lowest rate at which they send, if it may be below the line's."""


@dataclass(frozen=True)
class _Group:
    """Comparisons of one law, and the parameters that they share."""

    law: str
    comparison: tuple[Comparison, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


def _comparisons() -> tuple[Comparison, ...]:
    groups = data_file.read(Path(__file__).with_name("comparisons.toml"), dict[str, tuple[_Group, ...]])["group"]
    return tuple(
        replace(one, law=group.law, parameters={**group.parameters, **one.parameters})
        for group in groups
        for one in group.comparison
    )


COMPARISONS = _comparisons()
"""The comparisons, in the order of the page."""


def possible(release: str) -> list[Comparison]:
    """Return the comparisons whose disciplines the kernel of a release has, as ``6.12.117-aqmlab``."""
    return [one for one in COMPARISONS if _version(one.since) <= _version(release)]


def _version(release: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", release)[:2]]
