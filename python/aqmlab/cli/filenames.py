"""Names of the figures of ``aqmlab compare``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from aqmlab.cells.cell import Cell

_LONGEST = 80
"""The largest number of characters of the schemes in a name, which must be shorter than 255 bytes in all."""


def figure_names(cells: Sequence[Cell]) -> str:
    """Return the name of a comparison: its schemes, its users, and a hash of all cells."""
    labels = dict.fromkeys(cell.label for cell in cells if cell.signal != "none")
    schemes = re.sub(r"[^\w.=+]+", "-", "_".join(labels), flags=re.ASCII)[:_LONGEST].strip("-_")
    load, users = cells[0].load_percent, cells[0].users_per_side
    who = f"{users}-users" if load is None else f"{load:.3g}-percent"
    exactly = "\n".join(f"{cell.label} {cell.key}" for cell in cells)
    return f"{schemes}_{who}_{hashlib.sha256(exactly.encode()).hexdigest()[:8]}"
