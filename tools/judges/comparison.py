"""Estimates over seeds, and the deviation of a model from a program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aqmlab.stats.intervals import half_width


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, with half of the width of its 95 % interval; ``None`` for one seed."""

    mean: float
    half: float | None

    @staticmethod
    def of(values: list[float]) -> Estimate:
        """Return the estimate of the mean of independent values."""
        array = np.array(values)
        half = round(float(half_width(array, confidence=0.95)), 3) if len(values) > 1 else None
        return Estimate(round(float(array.mean()), 3), half)


@dataclass(frozen=True)
class Comparison:
    """One measure by the model and by the program, and the deviation of the model from the program."""

    model: Estimate
    program: Estimate
    deviation: Estimate

    @staticmethod
    def of(model: list[float], program: list[float], *, relative: bool) -> Comparison:
        """Compare the means of runs; model and program have one for each seed.

        The deviation is in the unit of the measure, or if it is ``relative`` in percent of the program's mean.
        """
        scale = 100 / float(np.mean(program)) if relative else 1.0
        deviations = [scale * (ours - theirs) for ours, theirs in zip(model, program, strict=True)]
        return Comparison(Estimate.of(model), Estimate.of(program), Estimate.of(deviations))
