"""Parity: the comparison of the same cells over a kernel's TCP, in real or virtual time, and in the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from aqmlab import stats
from aqmlab._core import SpecError
from aqmlab.live.run import run_live
from aqmlab.live.settings import DEFAULT, Settings
from aqmlab.metrics.numbers import NUMBERS
from aqmlab.results import curves
from aqmlab.running.run import run
from aqmlab.running.validation import check_each_once, check_experiment, check_out, check_seeds
from aqmlab.spec import schemes
from aqmlab.spec.experiment import Experiment
from aqmlab.spec.variants import parsing
from aqmlab.store.result import Result, pooled_cdf

WORLDS = ("live", "kernel")
"""The worlds with a kernel's TCP."""


@dataclass(frozen=True)
class Pair:
    """One seed of one scheme, in both worlds."""

    real: Result
    """The run over a kernel's TCP."""
    simulated: Result

    @property
    def valid(self) -> bool:
        """True if the run over a kernel's TCP is valid; in virtual time each is."""
        return self.real.valid

    @property
    def invalid_reasons(self) -> list[str]:
        """The reasons why a live run is invalid."""
        return list(self.real.metadata.get("live", {}).get("invalid_reasons", ()))

    @property
    def distance_percent(self) -> float:
        """The Hausdorff distance between the distributions of response times up to 2 s, in percent of the frame."""
        return curves.distance(self.real, self.simulated, 0.0, curves.AXIS_MS)


@dataclass(frozen=True)
class SchemeParity:
    """A scheme in both worlds, seed by seed."""

    label: str
    pairs: tuple[Pair, ...]
    world: str = "live"
    """The world of the kernel's TCP, ``live`` or ``kernel``."""

    @property
    def valid(self) -> list[Pair]:
        """The valid pairs."""
        return [pair for pair in self.pairs if pair.valid]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each measure: its means in both worlds, and the mean difference of the pairs with a 95 % interval."""
        for number in NUMBERS.values():
            values = [(number.read(pair.real.summary), number.read(pair.simulated.summary)) for pair in self.valid]
            pairs = np.array([pair for pair in values if None not in pair], dtype=float).reshape(-1, 2)
            yield {"measure": number.heading, **_compare(self.world, pairs)}
        distances = [pair.distance_percent for pair in self.valid]
        yield {
            "measure": "distance of response times, %",
            "difference": float(np.mean(distances)) if distances else None,
        }

    def curves(self) -> dict[str, pl.DataFrame]:
        """Return the distributions of response times of the valid pairs, all seeds together, by world."""
        worlds = {self.world: [pair.real for pair in self.valid], "simulated": [pair.simulated for pair in self.valid]}
        return {f"{self.label}, {world}": pooled_cdf(results) for world, results in worlds.items() if results}

    def record(self) -> dict[str, Any]:
        """Return the scheme's comparison as one object."""
        return {
            "label": self.label,
            "measures": list(self.rows()),
            "seeds": [
                {
                    "seed": pair.real.cell.seed,
                    "valid": pair.valid,
                    "invalid_reasons": pair.invalid_reasons,
                    "distance_percent": pair.distance_percent,
                    self.world: pair.real.record(),
                    "simulated": pair.simulated.record(),
                }
                for pair in self.pairs
            ],
        }


@dataclass(frozen=True)
class Parity:
    """Schemes in both worlds."""

    schemes: tuple[SchemeParity, ...]

    @property
    def world(self) -> str:
        """The world of the kernel's TCP, ``live`` or ``kernel``."""
        return self.schemes[0].world

    def frame(self) -> pl.DataFrame:
        """Return a row for each scheme and measure.

        Returns
        -------
        polars.DataFrame
            ``scheme`` and ``measure``; the means over the valid seeds, ``live`` or ``kernel`` and ``simulated``; their
            paired ``difference``, of the kernel's TCP less simulated, and its 95 % interval from ``low`` to ``high``,
            null for one seed.
        """
        columns = (self.world, "simulated", "difference", "low", "high")
        rows = [{"scheme": scheme.label, **row} for scheme in self.schemes for row in scheme.rows()]
        return pl.DataFrame(
            rows, schema={"scheme": pl.String, "measure": pl.String} | dict.fromkeys(columns, pl.Float64)
        )

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """One object for each scheme."""
        return [scheme.record() for scheme in self.schemes]


def parity(
    *scheme_texts: str,
    experiment: Experiment,
    seeds: Sequence[int] = (1, 2, 3),
    out: Path | str = "results",
    settings: Settings = DEFAULT,
    world: str = "live",
    progress: bool | None = None,
) -> Parity:
    """Run an experiment over a kernel's TCP and in the simulator, with the same seeds.

    Live runs are sequential, each as long as the experiment. Valid ones are stored and not repeated. Runs in virtual
    time are always valid.

    Parameters
    ----------
    *scheme_texts
        Schemes or variants, as for :func:`aqmlab.compare`; by default the experiment's own scheme.
    experiment
        The experiment to run, within the capabilities of live runs.
    seeds
        The seeds; each gives the same users and delays in both worlds.
    out
        The results directory.
    settings
        The device between hosts and router, and the bounds of validity, of live runs.
    world
        The world of the kernel's TCP: ``live``, this machine's kernel in real time, or ``kernel``, one in virtual time.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Raises
    ------
    SpecError
        When a scheme or the experiment is invalid, or not supported in that world.
    LiveError
        When the machine does not support that world.
    StoreError
        When a file cannot be written.
    """
    check_experiment(experiment)
    check_out(out)
    check_world(world, settings)
    parsing.check(experiment)
    variants = [parsing.parse(text, experiment) for text in scheme_texts]
    check_each_once("schemes", (variant.label for variant in variants))
    cases = {variant.label_in(experiment): variant.apply_to(experiment) for variant in variants} or {
        schemes.label_of(experiment): experiment
    }

    def real(case: Experiment, seed: int) -> Result:
        if world == "live":
            return run_live(case, seed=seed, out=out, settings=settings, progress=progress)
        return run(case.model_copy(update={"world": world}), seed=seed, out=out, progress=progress)

    def pair(case: Experiment, seed: int) -> Pair:
        return Pair(real(case, seed), run(case, seed=seed, out=out, progress=progress))

    return Parity(
        tuple(
            SchemeParity(label, tuple(pair(case, seed) for seed in check_seeds(seeds)), world)
            for label, case in cases.items()
        )
    )


def check_world(world: str, settings: Settings) -> None:
    """Refuse a world without a kernel's TCP, and bounds of validity where each run is valid."""
    if world not in WORLDS:
        raise SpecError(f"world: must be {' or '.join(WORLDS)}, got {world}")
    if world != "live" and settings != DEFAULT:
        raise SpecError("bounds of validity are for live runs; in virtual time each run is valid")


def _compare(world: str, pairs: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float | None]:
    """Compare values of a kernel's TCP, in the first column, with those of the simulator."""
    if not len(pairs):
        return dict.fromkeys((world, "simulated", "difference", "low", "high"))
    real, simulated = (float(mean) for mean in pairs.mean(axis=0))
    difference, low, high = stats.mean_interval(pairs[:, 0] - pairs[:, 1])
    # One pair has no interval.
    bounds = (low, high) if len(pairs) > 1 else (None, None)
    return {world: real, "simulated": simulated, "difference": difference, "low": bounds[0], "high": bounds[1]}
