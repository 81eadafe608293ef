"""Names of the figures that ``aqmlab compare`` writes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from aqmlab.cells.cell import Cell

_LONGEST = 80
"""Characters of the schemes in a name: with all that is put around them it stays below the 255 bytes of a file's."""


def figure_names(cells: Sequence[Cell]) -> str:
    """Name what cells compare: their schemes, their users, and a hash, for what a name has no room for."""
    labels = dict.fromkeys(cell.label for cell in cells if cell.signal != "none")
    schemes = re.sub(r"[^\w.=+]+", "-", "_".join(labels), flags=re.ASCII)[:_LONGEST].strip("-_")
    load, users = cells[0].load_percent, cells[0].users_per_side
    who = f"{users}-users" if load is None else f"{load:.3g}-percent"
    exactly = "\n".join(f"{cell.label} {cell.key}" for cell in cells)
    return f"{schemes}_{who}_{hashlib.sha256(exactly.encode()).hexdigest()[:8]}"
