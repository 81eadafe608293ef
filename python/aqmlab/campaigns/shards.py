"""Shards: the division of a campaign among independent machines.

Every machine divides all cells in the same way, independent of its store, and runs its own part. The work of a cell is
estimated by the packets that it can send, so that the parts have nearly equal work.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from typing import NamedTuple

from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell, work


class Shard(NamedTuple):
    """One of several parts of a campaign."""

    number: int
    """The number of the part, from 1."""
    shards: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse ``I/N``.

        Raises
        ------
        SpecError
            When the text has another form.
        """
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip(), re.ASCII)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise SpecError(f"--shard: must be I/N, the I-th of N parts, such as 3/16, got {text!r}")
        return cls(int(match[1]), int(match[2]))

    def select(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells of this part: the longest cells first, each is assigned to the part with the least work."""
        distinct = {cell.key: cell for cell in cells}
        parts = [(0.0, part) for part in range(self.shards)]
        selected = []
        for cell in sorted(distinct.values(), key=lambda cell: (-work(cell), cell.key)):
            total, part = heapq.heappop(parts)
            heapq.heappush(parts, (total + work(cell), part))
            if part == self.number - 1:
                selected.append(cell)
        return selected


def sbatch(command: Sequence[str], shards: int) -> str:
    """Return a script for Slurm that runs a campaign's command as an array of jobs, one for each shard."""
    import shlex

    return (
        "#!/bin/bash\n"
        "#SBATCH --job-name=aqmlab\n"
        f"#SBATCH --array=1-{shards}\n"
        "#SBATCH --cpus-per-task=1\n"
        "#SBATCH --output=aqmlab-%a.log\n"
        f'{shlex.join(command)} --workers 1 --shard "$SLURM_ARRAY_TASK_ID/{shards}"\n'
    )
