"""Metadata of cells, as they might be of other runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aqmlab.running.integrity import METADATA, read_metadata, seal

PLAIN = {
    **dict.fromkeys(("engine", "commit", "python", "machine"), ""),
    **dict.fromkeys(("results", "simulated_s", "wall_s", "cpu_s"), 1),
    "seed": 1,
    "created": "2026-11-26T00:00:00+00:00",
}
"""The metadata that every cell has."""

LATE = {"valid": False, "invalid_reasons": ["the router was late"], "router_lateness_ms_p99": 9.0}
"""The metadata of a live run whose machine was late."""


def reseal(directory: Path, **changes: Any) -> None:
    """Change some metadata of a cell, and write its checksums for what is there now; an ellipsis leaves a key out."""
    before = read_metadata(directory)
    (directory / METADATA).unlink()
    seal(directory, {key: value for key, value in {**before, **changes}.items() if value is not ...})
