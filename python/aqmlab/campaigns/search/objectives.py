"""Objectives: numbers of a run's summary, each with the side on which it is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab._core import SpecError
from aqmlab.metrics.numbers import Number
from aqmlab.metrics.parts import Parts


@dataclass(frozen=True)
class Objective:
    """A number of a run that is to be small, or large."""

    number: Number
    is_large: bool = False

    def read(self, summary: Mapping[str, Any]) -> float | None:
        """Return the number; ``None`` where there was nothing to measure."""
        return self.number.read(summary)

    @property
    def name(self) -> str:
        """Its name."""
        return self.number.name

    @property
    def unit(self) -> str:
        """Its unit."""
        return self.number.unit

    def __str__(self) -> str:
        return f"{self.name}, {self.unit}"


def objectives(minimise: Iterable[str], maximise: Iterable[str], parts: Parts) -> tuple[Objective, ...]:
    """Return the objectives of these names.

    Raises
    ------
    SpecError
        When there are none, no number has such a name, or one is given twice.
    """
    small, large = ([parts.find(name, "objective") for name in names] for names in (minimise, maximise))
    asked = [*map(Objective, small), *(Objective(number, is_large=True) for number in large)]
    if not asked:
        raise SpecError("objective: write what to minimise or maximise, such as --minimise p95")
    names = [each.name for each in asked]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"objective: {name} is given twice")
    return tuple(asked)
