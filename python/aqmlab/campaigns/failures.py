"""Cells that failed, kept beside those that did not: ``results/failed/<key>.json``, until they are run well."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from aqmlab.disciplines.custom.errors import LawError
from aqmlab.running.cell import Cell
from aqmlab.running.integrity import writing
from aqmlab.running.sweep import Overdue


class Elsewhere(Exception):
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
        return cls(cell=cell.key, label=cell.label, seed=cell.seed, error=in_a_line(error), at=now)


def in_a_line(error: BaseException) -> str:
    """Say an error in one line, with its kind where it is none of ours."""
    text = " ".join(str(error).split())
    if isinstance(error, Overdue):
        return text or "took longer than it may: a call of its law does not come back"
    return text if isinstance(error, (Elsewhere, LawError, ValueError)) else f"{type(error).__name__}: {text}"


class Failures:
    """The failures of one results directory."""

    def __init__(self, out: Path) -> None:
        self._directory = out / "failed"

    def get(self, cell: Cell) -> Failure | None:
        """Return why a cell failed; ``None`` where nobody knows of it, as where the file is damaged."""
        try:
            return Failure(**json.loads(self._file(cell).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def keep(self, failure: Failure) -> None:
        """Write down a failure: whole, or not at all."""
        file = self._directory / f"{failure.cell}.json"
        with writing(file):
            self._directory.mkdir(parents=True, exist_ok=True)
            draft = file.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(asdict(failure), indent=2) + "\n")
            draft.replace(file)

    def forget(self, cell: Cell) -> None:
        """Remove what is known of a cell's failure."""
        with writing(self._file(cell)):
            self._file(cell).unlink(missing_ok=True)

    def _file(self, cell: Cell) -> Path:
        return self._directory / f"{cell.key}.json"
