"""The stopping rule of a comparison: add seeds until each measure is precise enough, or the budget is spent."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from aqmlab._core import SpecError, seconds
from aqmlab.cells.cell import Cell
from aqmlab.metrics.numbers import Number
from aqmlab.metrics.parts import Parts
from aqmlab.running.progress import duration
from aqmlab.stats.sequential import LOOKS, max_affected_share, relative_width
from aqmlab.store.result import Result

_INITIAL_SEEDS = 2
"""The number of seeds from which the cost of a seed is estimated, if there is a budget."""

_MAX_TARGETS = 100

_MAX_PERCENT = 1000
"""The largest width in percent that a message shows."""


@dataclass(frozen=True)
class Target:
    """A measure with the precision that is required of its mean, in percent of the mean."""

    number: Number
    percent: float

    @staticmethod
    def read(text: str, parts: Parts) -> Target:
        """Parse ``p95 within 5 %`` or ``game one-way p99 within 5 %``; a ``SpecError`` says what is accepted."""
        match = re.fullmatch(r"(.+?)\s+within\s+(\d+(?:\.\d+)?)\s*%", text.strip(), re.ASCII)
        if match is None or not 0 < float(match[2]) <= _MAX_TARGETS:
            raise SpecError(f"until: must be as 'p95 within 5 %', at most {_MAX_TARGETS} %, got {text!r}")
        return Target(parts.find(match[1], "until"), float(match[2]))

    def width(self, scheme: str, results: Sequence[Result]) -> Width:
        """Return the precision of the mean over a scheme's seeds."""
        values = [self.number.read(result.summary) for result in results]
        return Width(self, scheme, tuple(values))

    def __str__(self) -> str:
        return f"{self.number.name} within {self.percent:g} %"


@dataclass(frozen=True)
class Width:
    """The precision of a scheme's measure when the comparison stops."""

    target: Target
    scheme: str
    values: tuple[float | None, ...]
    """The value of each seed."""

    @cached_property
    def percent(self) -> float | None:
        """The width of the mean's interval in percent of the mean; ``None`` if it is undefined.

        It is undefined if a seed has no value, all seeds have the same value, or too few values differ from 0.
        """
        if None in self.values:
            return None
        width = 100 * float(relative_width(np.array(self.values, dtype=float)))
        return width if math.isfinite(width) else None

    @property
    def is_met(self) -> bool:
        """True if the precision meets the target."""
        return self.percent is not None and self.percent <= self.target.percent

    def __str__(self) -> str:
        subject, seeds = f"{self.target.number.name} of {self.scheme}", len(self.values)
        if None in self.values:
            return f"{self.target.number.name} has no value in a seed of {self.scheme}"
        if self.percent is not None:
            text = f"known to within {self.percent:.3g} %"
            return f"{subject} is {text if self.percent < _MAX_PERCENT else f'not known to within {_MAX_PERCENT:,} %'}"
        if not any(self.values):
            share = 100 * max_affected_share(seeds)
            return f"{subject} is 0 in all {seeds} seeds: at most {share:.2g} % of seeds have any"
        if len(set(self.values)) == 1:
            value = f"{self.values[0]:.4g} {self.target.number.unit}"
            return f"{subject} is {value} in all {seeds} seeds, which does not show how much it varies"
        return f"{subject} is 0 in {self.values.count(0.0)} of {seeds} seeds: too few nonzero values for an interval"


@dataclass(frozen=True)
class StopReason:
    """The look at which a comparison stopped, and the reason."""

    seeds: int
    widths: tuple[Width, ...]
    next_cpu_s: float
    """The processor time up to and including the next look."""
    budget_s: float | None = None
    """The largest processor time of the comparison."""

    @property
    def look(self) -> int | None:
        """The number of the look, from 1; ``None`` before the first look."""
        return LOOKS.index(self.seeds) + 1 if self.seeds in LOOKS else None

    @property
    def is_met(self) -> bool:
        """True if all targets are met."""
        return self.look is not None and all(width.is_met for width in self.widths)

    def __str__(self) -> str:
        time = "before the first look" if self.look is None else f"at look {self.look} of {len(LOOKS)}"
        return f"Stopped {time}, with {self.seeds} seeds: {self._explain()}."

    def _explain(self) -> str:
        if self.is_met:
            targets = dict.fromkeys(str(width.target) for width in self.widths)
            return f"{', '.join(targets)} under every scheme, with 95 % over all looks"
        reason = "there is no further look"
        if self.seeds != LOOKS[-1] and self.budget_s is not None:
            needs, budget = (
                f"{time_s:.2g} s" if time_s < 10 else duration(time_s) for time_s in (self.next_cpu_s, self.budget_s)
            )
            reason = f"the next look needs {needs} of processor time in all, the budget is {budget}"
        return "; ".join([reason, *(str(width) for width in self.widths if not width.is_met)])

    def record(self) -> dict[str, Any]:
        """Return the reason as an object of ``aqmlab compare --json``."""
        widths = [
            {
                "target": str(width.target),
                "label": width.scheme,
                "percent": width.percent,
                "met": width.is_met,
                "reason": str(width),
            }
            for width in self.widths
        ]
        return {"seeds": self.seeds, "look": self.look, "met": self.is_met, "reason": str(self), "widths": widths}


@dataclass(frozen=True)
class StoppingRule:
    """The targets of a comparison, and its budget."""

    targets: tuple[Target, ...]
    budget_s: float | None = None
    """The largest processor time."""

    @staticmethod
    def read(
        targets: Sequence[str], budget: str | None, parts: Callable[[], Parts], **excluded: object
    ) -> StoppingRule | None:
        """Parse targets and budget; return ``None`` without targets. Only then the ``excluded`` options may be given.

        ``parts`` returns the parts of the traffic that have numbers of their own.
        """
        if not targets:
            if budget is not None:
                raise SpecError(f"budget: needs until, which is not given, got {budget!r}")
            return None
        for name, value in excluded.items():
            if value is not None:
                raise SpecError(f"{name}: cannot be with until, which takes seeds 1 to 5, 10, 20 or 40, got {value}")
        if isinstance(targets, str):
            raise SpecError(f"until: must be several, such as ['p95 within 5 %'], got {targets!r}")
        try:
            parts_of_cells = parts()
            budget_s = None if budget is None else seconds(budget)
            return StoppingRule(tuple(Target.read(text, parts_of_cells) for text in targets), budget_s)
        except SpecError:
            raise
        except ValueError as error:
            raise SpecError(f"budget: {error}") from None

    def run(
        self, cells: Callable[[range], list[Cell]], run: Callable[[list[Cell]], list[Result]]
    ) -> tuple[list[Result], StopReason]:
        """Run the cells of a growing number of seeds; the cost of a look is estimated from the seeds so far."""
        looks = LOOKS if self.budget_s is None else (_INITIAL_SEEDS, *LOOKS)
        for seeds, next_seeds in pairwise((*looks, None)):
            results = run(cells(range(1, seeds + 1)))
            cpu_s = sum(result.metadata["cpu_s"] for result in results)
            stop = StopReason(seeds, tuple(self._widths(results)), cpu_s * (next_seeds or seeds) / seeds, self.budget_s)
            if next_seeds is None or stop.is_met or (self.budget_s is not None and stop.next_cpu_s > self.budget_s):
                break
        return results, stop

    def _widths(self, results: Sequence[Result]) -> Iterator[Width]:
        for label, group in groupby(results, key=lambda result: result.cell.label):
            scheme = list(group)
            # The uncongested network is not a scheme: its loss is 0 with any number of seeds.
            if scheme[0].cell.signal != "none":
                yield from (target.width(label, scheme) for target in self.targets)
