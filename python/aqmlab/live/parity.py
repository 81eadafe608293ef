"""Parity: the comparison of the same cells over the kernel's TCP and in the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from aqmlab import stats
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


@dataclass(frozen=True)
class Pair:
    """One seed of one scheme, in both worlds."""

    live: Result
    simulated: Result

    @property
    def valid(self) -> bool:
        """True if the live run is valid."""
        return self.live.valid

    @property
    def distance_percent(self) -> float:
        """The Hausdorff distance between the distributions of response times up to 2 s, in percent of the frame."""
        return curves.distance(self.live, self.simulated, 0.0, curves.AXIS_MS)


@dataclass(frozen=True)
class SchemeParity:
    """A scheme in both worlds, seed by seed."""

    label: str
    pairs: tuple[Pair, ...]

    @property
    def valid(self) -> list[Pair]:
        """The pairs whose live run is valid."""
        return [pair for pair in self.pairs if pair.valid]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each measure: its means in both worlds, and the mean difference of the pairs with a 95 % interval."""
        for number in NUMBERS.values():
            live, simulated = (
                [number.read(result.summary) for result in world]
                for world in ([pair.live for pair in self.valid], [pair.simulated for pair in self.valid])
            )
            pairs = [
                (live_value, simulated_value)
                for live_value, simulated_value in zip(live, simulated, strict=True)
                if None not in (live_value, simulated_value)
            ]
            yield {"measure": number.heading, **_compare(np.array(pairs, dtype=float).reshape(-1, 2))}
        distances = [pair.distance_percent for pair in self.valid]
        yield {
            "measure": "distance of response times, %",
            "difference": float(np.mean(distances)) if distances else None,
        }

    def curves(self) -> dict[str, pl.DataFrame]:
        """Return the distributions of response times of the valid pairs, all seeds together, by world."""
        worlds = {"live": [pair.live for pair in self.valid], "simulated": [pair.simulated for pair in self.valid]}
        return {f"{self.label}, {world}": pooled_cdf(results) for world, results in worlds.items() if results}

    def record(self) -> dict[str, Any]:
        """Return the scheme's comparison as one object."""
        return {
            "label": self.label,
            "measures": list(self.rows()),
            "seeds": [
                {
                    "seed": pair.live.cell.seed,
                    "valid": pair.valid,
                    "invalid_reasons": pair.live.metadata["live"]["invalid_reasons"],
                    "distance_percent": pair.distance_percent,
                    "live": pair.live.record(),
                    "simulated": pair.simulated.record(),
                }
                for pair in self.pairs
            ],
        }


@dataclass(frozen=True)
class Parity:
    """Schemes in both worlds."""

    schemes: tuple[SchemeParity, ...]

    def frame(self) -> pl.DataFrame:
        """Return a row for each scheme and measure.

        Returns
        -------
        polars.DataFrame
            ``scheme`` and ``measure``; the means over the valid seeds, ``live`` and ``simulated``; their paired
            ``difference``, live less simulated, and its 95 % interval from ``low`` to ``high``, null for one seed.
        """
        columns = ("live", "simulated", "difference", "low", "high")
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
    progress: bool | None = None,
) -> Parity:
    """Run an experiment over the kernel's TCP and in the simulator, with the same seeds.

    Live runs are sequential, each as long as the experiment. Valid ones are stored and not repeated.

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
        The device between hosts and router, and the bounds of validity.
    progress
        Show progress on standard error; by default on a terminal and in a notebook.

    Raises
    ------
    SpecError
        When a scheme or the experiment is invalid, or not supported in live runs.
    LiveError
        When the machine does not support live runs.
    StoreError
        When a file cannot be written.
    """
    check_experiment(experiment)
    check_out(out)
    parsing.check(experiment)
    variants = [parsing.parse(text, experiment) for text in scheme_texts]
    check_each_once("schemes", (variant.label for variant in variants))
    cases = {variant.label_in(experiment): variant.apply_to(experiment) for variant in variants} or {
        schemes.label_of(experiment): experiment
    }
    return Parity(
        tuple(
            SchemeParity(
                label,
                tuple(
                    Pair(
                        run_live(case, seed=seed, out=out, settings=settings, progress=progress),
                        run(case, seed=seed, out=out, progress=progress),
                    )
                    for seed in check_seeds(seeds)
                ),
            )
            for label, case in cases.items()
        )
    )


def _compare(pairs: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float | None]:
    """Compare values of live runs, in the first column, with those of the simulator."""
    if not len(pairs):
        return dict.fromkeys(("live", "simulated", "difference", "low", "high"))
    live, simulated = (float(mean) for mean in pairs.mean(axis=0))
    difference, low, high = stats.mean_interval(pairs[:, 0] - pairs[:, 1])
    # One pair has no interval.
    bounds = (low, high) if len(pairs) > 1 else (None, None)
    return {"live": live, "simulated": simulated, "difference": difference, "low": bounds[0], "high": bounds[1]}
