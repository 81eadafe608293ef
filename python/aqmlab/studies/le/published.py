"""Published rows of both papers' tables, and the tolerances for our reproduction.

``published.toml`` has the sources and the tolerances, ``published.csv`` the rows, each with its scheme as typed.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One published result."""

    table: str
    rtt: str
    """The table of round-trip times that the users had."""
    load_percent: float
    scheme: str
    loss_percent: float
    completed_millions: float
    throughput_mbps: float


@dataclass(frozen=True, kw_only=True)
class Aims:
    """Tolerances around published values."""

    loss_points: float
    loss_percent: float
    completed_percent: float
    throughput_mbps: float

    def missed(self, ours: Mapping[str, Any], published: PublishedRow) -> list[str]:
        """Return the measures whose mean is further from the published value than the tolerance."""
        loss_within = max(self.loss_points, self.loss_percent / 100 * published.loss_percent)
        completed_within = self.completed_percent / 100 * published.completed_millions
        within = {
            "loss": abs(ours["loss_percent"] - published.loss_percent) <= loss_within,
            "completed": abs(ours["completed_requests"] / 1e6 - published.completed_millions) <= completed_within,
            "throughput": abs(ours["throughput_mbps"] - published.throughput_mbps) <= self.throughput_mbps,
        }
        return [measure for measure, near in within.items() if not near]


@dataclass(frozen=True, kw_only=True)
class Published:
    """Published experiments with their results."""

    sources: dict[str, str]
    aims: Aims
    rows: tuple[PublishedRow, ...]

    @classmethod
    def read(cls) -> Self:
        """Read the package's tables."""
        folder = resources.files(__package__)
        about = tomllib.loads((folder / "published.toml").read_text(encoding="utf-8"))
        rows = csv.DictReader((folder / "published.csv").read_text(encoding="utf-8").splitlines())
        return cls(sources=about["sources"], aims=Aims(**about["aims"]), rows=tuple(_row(row) for row in rows))


def _row(row: Mapping[str, str]) -> PublishedRow:
    words = {"table", "rtt", "scheme"}
    values: dict[str, Any] = {name: text if name in words else float(text) for name, text in row.items()}
    return PublishedRow(**values)
