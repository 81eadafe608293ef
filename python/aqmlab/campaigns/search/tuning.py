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
from aqmlab.campaigns.search.evaluate import Evaluator, Values
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
        return [float(differences.mean()) for differences in self.differences]


@dataclass(frozen=True)
class Confirmed:
    """One of the best candidates, with its evaluation under fresh seeds."""

    found: Candidate
    fresh: Candidate
    comparisons: int
    """The number of confirmed settings: the intervals of an objective hold together for all of them."""

    def interval(self, objective: int) -> tuple[float, float, float]:
        """Return the mean difference on fresh seeds with its 95 % interval."""
        differences = self.fresh.differences[objective]
        difference = Difference.between(differences, np.zeros_like(differences), comparisons=self.comparisons)
        return difference.mean, difference.low, difference.high


@dataclass(frozen=True, repr=False)
class TuningResult:
    """The result of a search."""

    scheme: str
    space: Space
    objectives: tuple[Objective, ...]
    seeds: tuple[int, ...]
    candidates: tuple[Candidate, ...]
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
        return [
            candidate
            for candidate in self.candidates
            if not any(self._dominates(other, candidate) for other in self.candidates)
        ]

    @cached_property
    def trials(self) -> pl.DataFrame:
        """A row for each setting: scheme, parameters, the mean difference in each objective."""
        rows = [
            {
                "scheme": candidate.scheme,
                **{
                    name: span.value_at(share)
                    for (name, span), share in zip(self.space.items(), candidate.point, strict=True)
                },
                **{str(objective): mean for objective, mean in zip(self.objectives, candidate.means, strict=True)},
            }
            for candidate in self.candidates
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def record(self) -> dict[str, Any]:
        """Return the result as one object, for ``--json``."""
        return {
            "scheme": self.scheme,
            "objectives": [
                {
                    "name": confirmed.name,
                    "unit": confirmed.unit,
                    "maximise": confirmed.is_maximised,
                    **_finite_values(self.baseline_interval(number), "baseline", "baseline_low", "baseline_high"),
                }
                for number, confirmed in enumerate(self.objectives)
            ],
            "seeds": list(self.seeds),
            "fresh_seeds": list(self.fresh_seeds),
            "left_out": self.left_out,
            "trials": self.trials.to_dicts(),
            "best": [
                {
                    "scheme": confirmed.found.scheme,
                    "found": confirmed.found.means,
                    "fresh": [
                        _finite_values(confirmed.interval(number), "difference", "low", "high")
                        for number in range(len(self.objectives))
                    ],
                }
                for confirmed in self.best
            ],
        }

    def _dominates(self, one: Candidate, other: Candidate) -> bool:
        signs = [-1 if item.is_maximised else 1 for item in self.objectives]
        one_means, other_means = (np.multiply(signs, item.means) for item in (one, other))
        return bool(np.all(one_means <= other_means) and np.any(one_means < other_means))

    def baseline_text(self, objective: int) -> str:
        """Return the mean of the given scheme as text, with half of its 95 % interval for several seeds."""
        mean, _, high = self.baseline_interval(objective)
        return f"{mean:,.4g}" + (f" ±{high - mean:,.2g}" if math.isfinite(high) else "")

    @property
    def sheet(self) -> Table:
        """The differences of the best settings from the given scheme, when found and on fresh seeds, as a table."""
        baseline = ", ".join(
            f"{confirmed.name} {self.baseline_text(n)} {confirmed.unit}" for n, confirmed in enumerate(self.objectives)
        )
        settings = [
            (confirmed.found.scheme, [(found, confirmed.interval(n)) for n, found in enumerate(confirmed.found.means)])
            for confirmed in self.best
        ]
        title = f"Differences from {self.scheme}, which has {baseline}"
        return table.differences_table(title, self.objectives, settings)

    def __repr__(self) -> str:
        return console.render_text(self.sheet)


def _finite_values(interval: tuple[float, float, float], *names: str) -> dict[str, float | None]:
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

    def read_objectives(parts: Parts) -> tuple[Objective, ...]:
        return objectives(minimise, maximise, parts)

    evaluator = Evaluator.create(
        scheme, over, read_objectives, experiment=experiment, out=out, workers=workers, executor=executor
    )
    checked_seeds = tuple(check_seeds(seeds))
    with evaluator.with_executor() as running:
        candidates, left_out = _search(running, checked_seeds, trials)
        if not candidates:
            raise SpecError(f"over: none of {left_out} settings can be run, the last: {running.errors[-1]}")
        result = TuningResult(
            scheme,
            running.space,
            running.objectives,
            checked_seeds,
            tuple(candidates),
            tuple(running.baseline(checked_seeds)),
            left_out=left_out,
        )
        best = _best(result, confirm)
        fresh_seeds = tuple(range(max(checked_seeds) + 1, max(checked_seeds) + 1 + len(checked_seeds))) if best else ()
        if best:
            logger.info(f"confirming {len(best)} under seeds {fresh_seeds[0]} to {fresh_seeds[-1]}")
        fresh = _differences(running, [candidate.point for candidate in best], fresh_seeds) if best else []
        confirmed = tuple(
            Confirmed(candidate, fresh_candidate, len(best))
            for candidate, fresh_candidate in zip(best, fresh, strict=True)
            if fresh_candidate is not None
        )
    return replace(result, best=confirmed, fresh_seeds=fresh_seeds)


def _search(evaluator: Evaluator, seeds: Sequence[int], trials: int) -> tuple[list[Candidate], int]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.FloatDistribution(0, 1) for name in evaluator.space
    }
    study = optuna.create_study(
        directions=["maximize" if objective.is_maximised else "minimize" for objective in evaluator.objectives],
        sampler=optuna.samplers.TPESampler(seed=1, multivariate=True, constant_liar=True, n_startup_trials=_BATCH * 2),
    )
    start = space.default_in(evaluator.scheme, evaluator.space)
    if start is not None:
        study.enqueue_trial(dict(zip(evaluator.space, start, strict=True)))
    candidates: list[Candidate] = []
    # An impossible setting costs nothing and is not a trial, but the loop must end.
    while (remaining := trials - len(candidates)) > 0 and len(study.trials) < _MAX_PROPOSALS * trials:
        proposals = [study.ask(distributions) for _ in range(min(_BATCH, remaining))]
        points = [[proposal.params[name] for name in evaluator.space] for proposal in proposals]
        outcomes = _differences(evaluator, points, seeds)
        for proposal, outcome in zip(proposals, outcomes, strict=True):
            if outcome is None:
                study.tell(proposal, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(proposal, outcome.means)
                candidates.append(outcome)
        if candidates:
            best = min(candidates, key=lambda candidate: _objective_values(candidate, evaluator.objectives))
            logger.info(f"{len(candidates)} of {trials} tried, best so far {best.scheme}")
    return candidates, len(study.trials) - len(candidates)


def _differences(
    evaluator: Evaluator, points: Sequence[Sequence[float]], seeds: Sequence[int]
) -> list[Candidate | None]:
    """Return the paired differences of settings from the given scheme."""
    baseline = evaluator.baseline(seeds)
    return [
        None
        if values is None
        else Candidate(
            evaluator.variant_at(point).label,
            tuple(point),
            tuple(value - reference for value, reference in zip(values, baseline, strict=True)),
        )
        for point, values in zip(points, evaluator.evaluate(points, seeds), strict=True)
    ]


def _objective_values(candidate: Candidate, objectives: Sequence[Objective]) -> float:
    """Return the value of the first objective, negated if it is to be maximised."""
    return -candidate.means[0] if objectives[0].is_maximised else candidate.means[0]


def _best(result: TuningResult, number: int) -> list[Candidate]:
    """Return the best distinct settings; with several objectives, spread along the front with both ends."""
    is_single = len(result.objectives) == 1
    ordered = sorted(
        result.candidates if is_single else result.front,
        key=lambda candidate: _objective_values(candidate, result.objectives),
    )
    distinct = list({candidate.scheme: candidate for candidate in ordered}.values())
    if is_single or len(distinct) <= number:
        return distinct[:number]
    return [distinct[round(n * (len(distinct) - 1) / max(number - 1, 1))] for n in range(number)]
