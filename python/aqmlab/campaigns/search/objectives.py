"""Objectives: numbers of a run's summary to minimise or maximise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab._core import SpecError
from aqmlab.metrics.numbers import Number
from aqmlab.metrics.parts import Parts


@dataclass(frozen=True)
class Objective:
    """A number of a run to minimise, or to maximise."""

    number: Number
    is_maximised: bool = False

    def read(self, summary: Mapping[str, Any]) -> float | None:
        """Return the number; ``None`` if there was nothing to measure."""
        return self.number.read(summary)

    @property
    def name(self) -> str:
        """The name of the number."""
        return self.number.name

    @property
    def unit(self) -> str:
        """The unit of the number."""
        return self.number.unit

    def __str__(self) -> str:
        return f"{self.name}, {self.unit}"


def objectives(minimise: Iterable[str], maximise: Iterable[str], parts: Parts) -> tuple[Objective, ...]:
    """Return the objectives of these names.

    Raises
    ------
    SpecError
        When there are none, there is no such number, or one is given twice.
    """
    minimised, maximised = ([parts.find(name, "objective") for name in names] for names in (minimise, maximise))
    all_objectives = [*map(Objective, minimised), *(Objective(number, is_maximised=True) for number in maximised)]
    if not all_objectives:
        raise SpecError("objective: write what to minimise or maximise, such as --minimise p95")
    names = [objective.name for objective in all_objectives]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"objective: {name} is given twice")
    return tuple(all_objectives)
