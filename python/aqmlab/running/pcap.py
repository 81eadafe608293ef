"""Packet captures: what is captured of a run, and the file it goes to."""

from __future__ import annotations

import dataclasses
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell
from aqmlab.ui import output_files


@dataclass(frozen=True, kw_only=True)
class Pcap:
    """A packet capture of a run: both queues' arrivals, each with what became of it, as a pcapng file.

    It changes no result. A cell that the store has is run again for its packets.
    """

    file: Path | str
    """Where it goes; a file that is there is replaced when the capture is complete, a pipe is written into."""
    from_s: float | None = None
    """Capture what arrives from this simulated time on, in seconds since the start of the run; the default is the start
    of the measured window."""
    for_s: float | None = None
    """And for so many seconds; the default is to the end of the run."""
    packets: int = 100_000
    """At most so many packets: some 11 MB. What arrives later is left out, of which the logger ``aqmlab`` warns."""

    def bounds(self, cell: Cell) -> tuple[float, float, int]:
        """Return from when, until when (in seconds) and how many packets of a cell are captured.

        Raises
        ------
        SpecError
            When that would be none.
        """
        warmup_s, end_s = cell.warmup_s, cell.end_s
        from_s = warmup_s if self.from_s is None else self.from_s
        if not 0 <= from_s < end_s:
            raise SpecError(f"pcap.from_s: must be from 0 to below the end of the run at {end_s:g} s, got {from_s:g}")
        if self.for_s is not None and not self.for_s > 0:
            raise SpecError(f"pcap.for_s: must be above 0 s, got {self.for_s:g}")
        if not 1 <= self.packets < 2**64:
            raise SpecError(f"pcap.packets: must be from 1 to 2^64 - 1, got {self.packets}")
        return from_s, math.inf if self.for_s is None else from_s + self.for_s, self.packets

    @contextmanager
    def create(self) -> Iterator[BinaryIO]:
        """Give a file to write to; it becomes the capture when the block ends well, or nothing is left of it.

        Raises
        ------
        SpecError
            When there can be no such file.
        """
        file = Path(self.file)
        try:
            with output_files.opened(file) as out:
                yield out
        except OSError as error:
            # The store's own files are named in errors of the store.
            if error.filename != str(file):
                raise
            raise SpecError(f"pcap.file: must be a file that can be written, got {file} ({error.strerror})") from None


def warn_truncated(pcap: Pcap, cell: Cell, last_s: float) -> None:
    """Warn that the capture of a cell ends with a packet at ``last_s`` seconds, though more came."""
    from_s, until_s, packets = pcap.bounds(cell)
    logging.getLogger("aqmlab").warning(
        f"{pcap.file}: the capture holds the first {packets:,} packets: it ends at {last_s:.2f} s of a window from"
        f" {from_s:g} s to {min(until_s, cell.end_s):g} s; ask for more packets or a shorter time (--pcap-packets,"
        " --pcap-for)"
    )


def capture_paths(pcap: Pcap, cells: Sequence[Cell]) -> Mapping[str, Pcap]:
    """Return a capture for each cell by its key: ``x.pcapng`` becomes ``x-pi-q_ref=24-seed1.pcapng``."""
    pcaps: dict[str, Pcap] = {}
    file = Path(pcap.file)
    for cell in cells:
        label = re.sub(r"[^\w.=]+", "-", cell.label)
        name = f"{file.stem}-{label}-seed{cell.seed}"
        taken = {Path(other.file).stem for key, other in pcaps.items() if key != cell.key}
        if name in taken:
            # Labels that differ in what a file's name cannot hold.
            name += f"-{cell.key}"
        pcaps.setdefault(cell.key, dataclasses.replace(pcap, file=file.with_name(name + file.suffix)))
    return pcaps
