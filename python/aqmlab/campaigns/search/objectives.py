"""What a setting is judged by: a number of a run's summary, and whether more of it is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab._core import SpecError
from aqmlab.disciplines.catalogue import nearest
from aqmlab.results.measured import NUMBERS, at


@dataclass(frozen=True)
class Objective:
    """A number of a run that is to be small, or large."""

    name: str
    is_large: bool = False

    def __post_init__(self) -> None:
        if self.name not in NUMBERS:
            raise SpecError(
                f"objective: must be one of {', '.join(NUMBERS)}{nearest(self.name, NUMBERS)}, got {self.name!r}"
            )

    def read(self, summary: Mapping[str, Any]) -> float | None:
        """Return the number; ``None`` where there was nothing to measure."""
        return at(summary, NUMBERS[self.name].path)

    @property
    def unit(self) -> str:
        """Its unit."""
        return NUMBERS[self.name].unit

    def __str__(self) -> str:
        return f"{self.name}, {self.unit}"


def objectives(minimise: Iterable[str], maximise: Iterable[str]) -> list[Objective]:
    """Return what is asked for.

    Raises
    ------
    SpecError
        When nothing is, or something twice.
    """
    asked = [Objective(name) for name in minimise] + [Objective(name, is_large=True) for name in maximise]
    if not asked:
        raise SpecError("objective: say what to minimise or maximise, such as --minimise p95")
    names = [each.name for each in asked]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"objective: {name} is asked for twice")
    return asked
