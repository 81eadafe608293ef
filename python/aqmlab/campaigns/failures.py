"""Cells that failed, kept beside those that did not: ``results/failed/<key>.json``, until they are run well."""

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
    """A cell failed in another process, which says why."""


@dataclass(frozen=True)
class Failure:
    """Why a cell failed."""

    cell: str
    """Its key."""
    label: str
    """Its scheme as typed."""
    seed: int
    error: str
    """In one line."""
    at: str
    """When, as ISO 8601 has it."""

    @classmethod
    def of(cls, cell: Cell, error: BaseException) -> Failure:
        """Say what went wrong with a cell now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(cell=cell.key, label=cell.label, seed=cell.seed, error=one_line(error), at=now)


def one_line(error: BaseException) -> str:
    """Say an error in one line, with its kind where it is none of ours."""
    text = " ".join(str(error).split())
    if isinstance(error, CellTimeout):
        return text or "took longer than it may: a call of its law does not come back"
    return (
        text
        if isinstance(error, (RemoteError, LawError, OutOfMemory, ValueError))
        else f"{type(error).__name__}: {text}"
    )


class Failures:
    """The failures of one results directory."""

    def __init__(self, out: Location) -> None:
        self._out = out

    def known(self) -> dict[str, Failure]:
        """Return those that are known, by the keys of their cells; a file that is damaged tells of none.

        Raises
        ------
        StoreError
            When they cannot be read.
        """
        found = {}
        for name in names(self._out, _FAILED):
            with suppress(ValueError, TypeError, RecursionError, Damaged):
                content = read_bytes(self._out, f"{_FAILED}/{name}")
                failure = Failure(**json.loads(content or b""))
                found[failure.cell] = failure
        return found

    def keep(self, failure: Failure) -> None:
        """Write down a failure: whole, or not at all."""
        marker.claim(self._out)
        content = json.dumps(asdict(failure), indent=2) + "\n"
        write_bytes(self._out, f"{_FAILED}/{failure.cell}.json", content.encode())

    def forget(self, cell: Cell) -> None:
        """Remove what is known of a cell's failure."""
        file = self._out / _FAILED / f"{cell.key}.json"
        with writing(file):
            file.unlink(missing_ok=True)
