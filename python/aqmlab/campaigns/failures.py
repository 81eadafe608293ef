"""Failures of cells in the store: ``results/failed/<key>.json``, until the cell completes."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from aqmlab.cells.cell import Cell
from aqmlab.disciplines.custom.errors import LawError
from aqmlab.running.machine.memory import OutOfMemory
from aqmlab.running.sweep import CellTimeout
from aqmlab.storage import marker
from aqmlab.storage.errors import Damaged
from aqmlab.storage.integrity import writing
from aqmlab.storage.io import names, read_bytes, write_bytes
from aqmlab.storage.location import Location

_FAILED = "failed"


class RemoteError(Exception):
    """A cell failed in another process; the message is the reason."""


@dataclass(frozen=True)
class Failure:
    """The failure of a cell."""

    cell: str
    """The key of the cell."""
    label: str
    """The scheme as typed."""
    seed: int
    error: str
    """The error in one line."""
    at: str
    """The time of the failure in ISO 8601."""
    rate_mbps: float | None = None
    """The rate of the link; unknown for a failure of an earlier version, or for several rates."""
    load_percent: float | None = None

    @classmethod
    def from_error(cls, cell: Cell, error: BaseException) -> Failure:
        """Return the failure of a cell at the present time."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        setting = {name: cell.row[name] for name in ("rate_mbps", "load_percent")}
        return cls(cell=cell.key, label=cell.label, seed=cell.seed, error=one_line(error), at=now, **setting)


def one_line(error: BaseException) -> str:
    """Return an error as one line, with its type unless it is an error of aqmlab."""
    text = " ".join(str(error).split())
    if isinstance(error, CellTimeout):
        return text or "exceeded the time limit: a call of its law does not return"
    return (
        text
        if isinstance(error, (RemoteError, LawError, OutOfMemory, ValueError))
        else f"{type(error).__name__}: {text}"
    )


class Failures:
    """The failures of one results directory."""

    def __init__(self, out: Location) -> None:
        self._out = out

    def load(self) -> dict[str, Failure]:
        """Return the recorded failures by the keys of their cells; damaged files are ignored.

        Raises
        ------
        StoreError
            When the failures cannot be read.
        """
        failures = {}
        for name in names(self._out, _FAILED):
            with suppress(ValueError, TypeError, RecursionError, Damaged):
                content = read_bytes(self._out, f"{_FAILED}/{name}")
                failure = Failure(**json.loads(content or b""))
                failures[failure.cell] = failure
        return failures

    def add(self, failure: Failure) -> None:
        """Record a failure atomically."""
        marker.claim(self._out)
        content = json.dumps(asdict(failure), indent=2) + "\n"
        write_bytes(self._out, f"{_FAILED}/{failure.cell}.json", content.encode())

    def remove(self, cell: Cell) -> None:
        """Remove the failure of a cell."""
        file = self._out / _FAILED / f"{cell.key}.json"
        with writing(file):
            file.unlink(missing_ok=True)
