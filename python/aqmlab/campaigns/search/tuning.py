"""Tuning: parameter search (Bayesian optimization) for the best settings of a discipline, confirmed on fresh seeds.

Optuna's tree-structured Parzen estimator proposes the settings. Every setting is compared with the given scheme, seed
by seed under the same users. The best of many settings look better on the seeds of the search than they are, so that
the differences on fresh seeds count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.table import Table

from aqmlab._core import SpecError
from aqmlab.campaigns.search import space, table
from aqmlab.campaigns.search.evaluate import Trial, Values
from aqmlab.campaigns.search.objectives import Objective, objectives
from aqmlab.campaigns.search.space import Space
from aqmlab.metrics.parts import Parts
from aqmlab.running.validation import check_seeds
from aqmlab.spec.experiment import Experiment
from aqmlab.stats import Difference, mean_interval
from aqmlab.ui import console
from aqmlab.ui.extras import require
from aqmlab.ui.messages import logger

_BATCH = 4
"""The number of settings that are proposed at a time. It is independent of the workers, so that a search is the same on
every machine."""

_MAX_PROPOSALS = 10
"""The largest number of proposals for each trial, if most are impossible."""


@dataclass(frozen=True)
class Candidate:
    """A setting with its differences from the given scheme: one array over seeds for each objective."""

    scheme: str
    point: tuple[float, ...]
    differences: tuple[Values, ...]

    @property
    def means(self) -> list[float]:
        """The mean difference in each objective."""
        return [float(each.mean()) for each in self.differences]


@dataclass(frozen=True)
class Confirmed:
    """One of the best candidates, with its evaluation under fresh seeds."""

    found: Candidate
    fresh: Candidate
    among: int
    """The number of confirmed settings: the intervals of an objective hold together for all of them."""

    def interval(self, objective: int) -> tuple[float, float, float]:
        """Return the mean difference on fresh seeds with its 95 % interval."""
        differences = self.fresh.differences[objective]
        found = Difference.of(differences, np.zeros_like(differences), comparisons=self.among)
        return found.mean, found.low, found.high


@dataclass(frozen=True, repr=False)
class TuningResult:
    """The result of a search."""

    scheme: str
    space: Space
    objectives: tuple[Objective, ...]
    seeds: tuple[int, ...]
    tried: tuple[Candidate, ...]
    baseline: tuple[Values, ...]
    """The values of the given scheme: one array over seeds for each objective."""
    best: tuple[Confirmed, ...] = ()
    fresh_seeds: tuple[int, ...] = ()
    left_out: int = 0
    """The number of settings that are impossible or whose runs failed."""

    def baseline_interval(self, objective: int) -> tuple[float, float, float]:
        """Return the mean of the given scheme with its 95 % interval."""
        return mean_interval(self.baseline[objective])

    @property
    def front(self) -> list[Candidate]:
        """The Pareto front: the settings that no other setting dominates."""
        return [each for each in self.tried if not any(self._dominates(other, each) for other in self.tried)]

    @cached_property
    def trials(self) -> pl.DataFrame:
        """A row for each setting: scheme, parameters, the mean difference in each objective."""
        rows = [
            {
                "scheme": each.scheme,
                **{name: span.at(share) for (name, span), share in zip(self.space.items(), each.point, strict=True)},
                **{str(what): mean for what, mean in zip(self.objectives, each.means, strict=True)},
            }
            for each in self.tried
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def record(self) -> dict[str, Any]:
        """Return the result as one object, for ``--json``."""
        return {
            "scheme": self.scheme,
            "objectives": [
                {
                    "name": each.name,
                    "unit": each.unit,
                    "maximise": each.is_large,
                    **_named(self.baseline_interval(number), "baseline", "baseline_low", "baseline_high"),
                }
                for number, each in enumerate(self.objectives)
            ],
            "seeds": list(self.seeds),
            "fresh_seeds": list(self.fresh_seeds),
            "left_out": self.left_out,
            "trials": self.trials.to_dicts(),
            "best": [
                {
                    "scheme": each.found.scheme,
                    "found": each.found.means,
                    "fresh": [
                        _named(each.interval(number), "difference", "low", "high")
                        for number in range(len(self.objectives))
                    ],
                }
                for each in self.best
            ],
        }

    def _dominates(self, one: Candidate, other: Candidate) -> bool:
        signs = [-1 if each.is_large else 1 for each in self.objectives]
        ones, others = (np.multiply(signs, each.means) for each in (one, other))
        return bool(np.all(ones <= others) and np.any(ones < others))

    def as_given(self, objective: int) -> str:
        """Return the mean of the given scheme as text, with half of its 95 % interval for several seeds."""
        mean, _, high = self.baseline_interval(objective)
        return f"{mean:,.4g}" + (f" ±{high - mean:,.2g}" if math.isfinite(high) else "")

    @property
    def sheet(self) -> Table:
        """The differences of the best settings from the given scheme, when found and on fresh seeds, as a table."""
        baseline = ", ".join(f"{each.name} {self.as_given(n)} {each.unit}" for n, each in enumerate(self.objectives))
        settings = [
            (each.found.scheme, [(found, each.interval(n)) for n, found in enumerate(each.found.means)])
            for each in self.best
        ]
        title = f"Differences from {self.scheme}, which has {baseline}"
        return table.differences_table(title, self.objectives, settings)

    def __repr__(self) -> str:
        return console.plain(self.sheet)


def _named(interval: tuple[float, float, float], *names: str) -> dict[str, float | None]:
    """Return a mean and its bounds by names; infinite bounds, of a single seed, become ``None`` for JSON."""
    return {name: value if math.isfinite(value) else None for name, value in zip(names, interval, strict=True)}


def tune(
    scheme: str,
    over: str,
    *,
    minimise: Sequence[str] = (),
    maximise: Sequence[str] = (),
    experiment: Experiment | None = None,
    trials: int = 40,
    seeds: Sequence[int] = (1, 2, 3),
    confirm: int = 3,
    out: Path | str = "results",
    workers: int | None = None,
    executor: Executor | None = None,
) -> TuningResult:
    """Search a discipline's settings by Optuna's tree-structured Parzen estimator, and confirm the best on fresh seeds.

    Stored runs are not repeated, so that an interrupted search resumes, and a longer search continues a shorter one.

    Parameters
    ----------
    scheme
        The scheme or variant with its fixed parameters: ``"pi:ecn=true"``. Settings are compared with it.
    over
        The ranges of the searched parameters: ``"q_ref=5..300,a,b"``. A range over a factor of at least ten has a
        logarithmic scale. A parameter without a range varies from a tenth of its default to ten times the default.
    minimise, maximise
        The objectives: numbers by name, such as ``"p95"`` of :data:`aqmlab.metrics.numbers.NUMBERS`, or
        ``"game one-way p99"`` of a source. With several objectives the best settings are the Pareto front.
    experiment
        The experiment without the scheme. The default is 98 % load as in Le et al. (2003).
    trials
        The number of settings to try.
    seeds
        The seeds of each setting.
    confirm
        The number of best settings to run again under the same number of fresh seeds, which follow the last seed.
    out
        The results directory.
    workers
        The number of cells to run at a time; by default the number of processors that this process may use.
    executor
        Run the cells by this executor, as for :func:`aqmlab.sweep`.

    Raises
    ------
    SpecError
        When an argument is invalid.

    Examples
    --------
    >>> tune("pi:ecn=true", "q_ref=5..300", minimise=["p95"], trials=20)  # doctest: +SKIP
    """
    if trials < 1 or confirm < 0:
        raise SpecError(f"trials: must be at least 1, and confirm at least 0, got {trials} and {confirm}")

    require("search")

    def wanted(parts: Parts) -> tuple[Objective, ...]:
        return objectives(minimise, maximise, parts)

    asked = Trial.of(scheme, over, wanted, experiment=experiment, out=out, workers=workers, executor=executor)
    given = tuple(check_seeds(seeds))
    with asked.running() as trial:
        tried, left_out = _search(trial, given, trials)
        if not tried:
            raise SpecError(f"over: none of {left_out} settings can be run, the last: {trial.mistakes[-1]}")
        found = TuningResult(
            scheme,
            trial.space,
            trial.objectives,
            given,
            tuple(tried),
            tuple(trial.baseline(given)),
            left_out=left_out,
        )
        best = _best(found, confirm)
        fresh_seeds = tuple(range(max(given) + 1, max(given) + 1 + len(given))) if best else ()
        if best:
            logger.info(f"confirming {len(best)} under seeds {fresh_seeds[0]} to {fresh_seeds[-1]}")
        fresh = _differences(trial, [each.point for each in best], fresh_seeds) if best else []
        confirmed = tuple(
            Confirmed(one, again, len(best)) for one, again in zip(best, fresh, strict=True) if again is not None
        )
    return replace(found, best=confirmed, fresh_seeds=fresh_seeds)


def _search(trial: Trial, seeds: Sequence[int], trials: int) -> tuple[list[Candidate], int]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.FloatDistribution(0, 1) for name in trial.space
    }
    study = optuna.create_study(
        directions=["maximize" if each.is_large else "minimize" for each in trial.objectives],
        sampler=optuna.samplers.TPESampler(seed=1, multivariate=True, constant_liar=True, n_startup_trials=_BATCH * 2),
    )
    start = space.default_in(trial.scheme, trial.space)
    if start is not None:
        study.enqueue_trial(dict(zip(trial.space, start, strict=True)))
    tried: list[Candidate] = []
    # An impossible setting costs nothing and is not a trial, but the loop must end.
    while (left := trials - len(tried)) > 0 and len(study.trials) < _MAX_PROPOSALS * trials:
        asked = [study.ask(distributions) for _ in range(min(_BATCH, left))]
        outcomes = _differences(trial, [[each.params[name] for name in trial.space] for each in asked], seeds)
        for each, outcome in zip(asked, outcomes, strict=True):
            if outcome is None:
                study.tell(each, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(each, outcome.means)
                tried.append(outcome)
        if tried:
            best = min(tried, key=lambda one: _objective_values(one, trial.objectives))
            logger.info(f"{len(tried)} of {trials} tried, best so far {best.scheme}")
    return tried, len(study.trials) - len(tried)


def _differences(trial: Trial, points: Sequence[Sequence[float]], seeds: Sequence[int]) -> list[Candidate | None]:
    """Return the paired differences of settings from the given scheme."""
    firsts = trial.baseline(seeds)
    return [
        None
        if values is None
        else Candidate(
            trial.at(point).label,
            tuple(point),
            tuple(ours - first for ours, first in zip(values, firsts, strict=True)),
        )
        for point, values in zip(points, trial.values(points, seeds), strict=True)
    ]


def _objective_values(each: Candidate, what: Sequence[Objective]) -> float:
    """Return the value of the first objective, negated if it is to be maximised."""
    return -each.means[0] if what[0].is_large else each.means[0]


def _best(found: TuningResult, number: int) -> list[Candidate]:
    """Return the best distinct settings; with several objectives, spread along the front with both ends."""
    one = len(found.objectives) == 1
    ranked = sorted(found.tried if one else found.front, key=lambda each: _objective_values(each, found.objectives))
    distinct = list({each.scheme: each for each in ranked}.values())
    if one or len(distinct) <= number:
        return distinct[:number]
    return [distinct[round(n * (len(distinct) - 1) / max(number - 1, 1))] for n in range(number)]
