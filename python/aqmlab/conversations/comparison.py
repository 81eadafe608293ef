"""The connections of an experiment in the simulator and in a Linux kernel, side by side."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from aqmlab.cells.cell import cells_of
from aqmlab.conversations.differences import Differences, find_differences
from aqmlab.conversations.segments import Conversation, read_conversations
from aqmlab.running.pcap import Pcap
from aqmlab.running.run import run_cell
from aqmlab.spec.experiment import Experiment
from aqmlab.store.store import Store

WORLDS = ("simulated", "kernel")
"""The worlds that are compared, in this order."""

_PACKETS = 10_000_000


@dataclass(frozen=True)
class Comparison:
    """A connection in both worlds."""

    conversations: tuple[Conversation, Conversation]
    """The connection in the simulator and in the kernel."""
    differences: Differences


def compare_worlds(experiment: Experiment, *, seed: int = 1, tolerance_ns: int = 0) -> list[Comparison]:
    """Run an experiment in the simulator and in a kernel, and compare its connections segment by segment.

    Connections are matched by the order of their first SYNs.

    Parameters
    ----------
    experiment : Experiment
        The experiment; its ``world`` is ignored.
    seed : int
        The seed of all random draws.
    tolerance_ns : int
        Times that differ by no more than this are equal; 0 ns by default.

    Returns
    -------
    list of Comparison
        One for each connection, in the order of the first SYNs.
    """
    with tempfile.TemporaryDirectory(prefix="aqmlab-") as directory:
        files = [_capture(experiment, world, seed, Path(directory)) for world in WORLDS]
        simulated, real = (read_conversations(file) for file in files)
    return [
        Comparison((a, b), find_differences(a, b, tolerance_ns=tolerance_ns))
        for a, b in zip(simulated, real, strict=False)
    ]


def _capture(experiment: Experiment, world: str, seed: int, directory: Path) -> Path:
    file = directory / f"{world}.pcapng"
    (cell,) = cells_of(experiment.model_copy(update={"world": world}), [seed])
    run_cell(cell, Store(directory / world), pcap=Pcap(file=file, from_s=0, packets=_PACKETS))
    return file
