"""Packet captures of a run."""

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
    """A packet capture of a run: the arrivals at both queues, each with its outcome, as a pcapng file.

    It does not change the results. A stored cell is run again for its packets.
    """

    file: Path | str
    """The output file. An existing file is replaced when the capture is complete; a pipe is written to."""
    from_s: float | None = None
    """Begin at this simulated time, in seconds since the start of the run; the default is the start of the measurement
    window."""
    for_s: float | None = None
    """The length of the capture in seconds; the default is to the end of the run."""
    packets: int = 100_000
    """The largest number of packets; the default takes some 11 MB. The logger ``aqmlab`` warns of omitted packets."""

    def bounds(self, cell: Cell) -> tuple[float, float, int]:
        """Return the start and the end of the capture of a cell in seconds, and its largest number of packets.

        Raises
        ------
        SpecError
            When the capture would be empty.
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
        """Return a file to write to, which becomes the capture when the block ends without an error.

        Raises
        ------
        SpecError
            When the file cannot be written.
        """
        file = Path(self.file)
        try:
            with output_files.opened(file) as out:
                yield out
        except OSError as error:
            # Errors about files of the store name those files already.
            if error.filename != str(file):
                raise
            raise SpecError(f"pcap.file: must be a file that can be written, got {file} ({error.strerror})") from None


def warn_truncated(pcap: Pcap, cell: Cell, last_s: float) -> None:
    """Warn that the capture of a cell is truncated after a packet at ``last_s`` seconds."""
    from_s, until_s, packets = pcap.bounds(cell)
    logging.getLogger("aqmlab").warning(
        f"{pcap.file}: the capture holds the first {packets:,} packets: it ends at {last_s:.2f} s of a window from"
        f" {from_s:g} s to {min(until_s, cell.end_s):g} s; ask for more packets or a shorter time (--pcap-packets,"
        " --pcap-for)"
    )


def capture_paths(pcap: Pcap, cells: Sequence[Cell]) -> Mapping[str, Pcap]:
    """Return a capture for each cell by its key: the file ``x.pcapng`` becomes ``x-pi-q_ref=24-seed1.pcapng``."""
    pcaps: dict[str, Pcap] = {}
    file = Path(pcap.file)
    for cell in cells:
        label = re.sub(r"[^\w.=]+", "-", cell.label)
        name = f"{file.stem}-{label}-seed{cell.seed}"
        taken = {Path(other.file).stem for key, other in pcaps.items() if key != cell.key}
        if name in taken:
            # The labels differ only in characters that file names cannot have.
            name += f"-{cell.key}"
        pcaps.setdefault(cell.key, dataclasses.replace(pcap, file=file.with_name(name + file.suffix)))
    return pcaps
