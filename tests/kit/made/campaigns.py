"""A campaign of many cells that take milliseconds each, and what is left of it."""

from __future__ import annotations

import json
from pathlib import Path

import aqmlab as lab

TINY = [
    "link.rate=2 Mbit/s",
    "users.per_side=200",
    "protocol.warmup=1 s",
    "protocol.duration=9 s",
]
"""Changes that make an experiment tiny."""

GRID = f"""
set = {json.dumps(TINY)}
schemes = ["droptail:limit=50", "pi:ecn=true"]
[axes]
"link.delay" = ["5 ms", "20 ms"]
"queue.pi.q_ref" = {{ from = 10, to = 40, steps = 3, scale = "log", whole = true }}
"""
"""Two schemes over two delays, one of them with three targets: eight points."""


def grid(directory: Path) -> lab.Grid:
    """Return the grid that is written into a file of a directory, ``grid.toml``."""
    file = directory / "grid.toml"
    file.write_text(GRID)
    return lab.Grid.from_toml(file)


def tables(out: Path) -> dict[str, bytes]:
    """Return the tables of all cells, to the byte."""
    cells = out / "cells"
    return {str(file.relative_to(cells)): file.read_bytes() for file in cells.rglob("*.parquet")}
