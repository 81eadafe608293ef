"""Sensitivity analysis (Morris, Sobol) of a discipline's parameters on a link, by SALib.

Morris's elementary effects (1991; Campolongo, Cariboni and Saltelli 2007) rank parameters with few runs. ``mu_star`` is
the mean absolute change of a measure over a parameter's range, and ``sigma`` its dependence on the other parameters.
Sobol's indices divide the variance of a measure among the parameters. ``S1`` is the share of a parameter alone, and
``ST`` its share with all interactions (Saltelli et al. 2010). Runs have the same users, so that points differ only in
the setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.table import Table

from aqmlab._core import SpecError
from aqmlab.campaigns.search import table
from aqmlab.campaigns.search.evaluate import Evaluator
from aqmlab.campaigns.search.objectives import Objective
from aqmlab.campaigns.search.space import Space
from aqmlab.metrics.parts import Parts
from aqmlab.running.validation import check_seeds
from aqmlab.spec.experiment import Experiment
from aqmlab.ui import console
from aqmlab.ui.extras import require
from aqmlab.ui.messages import logger

Method = Literal["morris", "sobol"]

_LEVELS = 4
"""The number of levels of Morris's grid: the usual number."""

_COLUMNS = {
    "morris": {"mu_star": "mu_star", "mu_star_conf": "mu_star_half", "mu": "mu", "sigma": "sigma"},
    "sobol": {"S1": "S1", "S1_conf": "S1_half", "ST": "ST", "ST_conf": "ST_half"},
}
"""The columns of SALib's result, with their names here; ``_half`` is half of a 95 % interval (bootstrap)."""


@dataclass(frozen=True, repr=False)
class Sensitivity:
    """The sensitivity of each measure to each parameter."""

    scheme: str
    space: Space
    method: Method
    runs: int
    """The number of settings that were run."""
    seeds: tuple[int, ...]
    indices: pl.DataFrame
    """A row for each measure and parameter, the most influential first."""

    def record(self) -> dict[str, Any]:
        """Return the sensitivity as one object, for ``--json``."""
        return {
            "scheme": self.scheme,
            "method": self.method,
            "runs": self.runs,
            "seeds": list(self.seeds),
            "indices": self.indices.to_dicts(),
        }

    @property
    def sheet(self) -> Table:
        """The indices of each parameter by measure, as a table."""
        ranges = ", ".join(f"{name} {span}" for name, span in self.space.items())
        title = f"{self.scheme} over {ranges}: {self.runs} settings"
        return table.indices_table(title, self.indices, have_units=self.method == "morris")

    def __repr__(self) -> str:
        return console.render_text(self.sheet)


def sensitivity(
    scheme: str,
    over: str,
    *,
    of: Sequence[str] = ("p95", "throughput"),
    method: Method = "morris",
    experiment: Experiment | None = None,
    points: int = 8,
    seeds: Sequence[int] = (1, 2, 3),
    out: Path | str = "results",
    workers: int | None = None,
    executor: Executor | None = None,
) -> Sensitivity:
    """Estimate the sensitivity of measures to the parameters of a discipline. Stored runs are not repeated.

    Parameters
    ----------
    scheme
        The scheme or variant with its fixed parameters.
    over
        The ranges of the varied parameters, as for :func:`aqmlab.campaigns.search.tuning.tune`.
    of
        The measures, by the names of the objectives of :func:`aqmlab.campaigns.search.tuning.tune`.
    method
        ``"morris"`` runs ``points * (k + 1)`` settings of ``k`` parameters, ``"sobol"`` ``points * (k + 2)``.
    experiment
        The experiment without the scheme. The default is 98 % load as in Le et al. (2003).
    points
        The number of trajectories, or of base samples, which must be a power of two. For Morris, 8 suffice to rank; for
        Sobol use at least 256.
    seeds
        The seeds of each setting; the analysis uses the mean.
    out
        The results directory.
    workers
        The number of cells to run at a time; by default the number of processors that this process may use.
    executor
        Run the cells by this executor, as for :func:`aqmlab.sweep`.

    Raises
    ------
    SpecError
        When a setting in the ranges is impossible, or has no value.

    Examples
    --------
    >>> sensitivity("pi:ecn=true", "q_ref=5..300,sampling_hz=20..500", of=["p95"])  # doctest: +SKIP
    """
    require("search")
    if method not in get_args(Method):
        raise SpecError(f"method: must be {' or '.join(get_args(Method))}, got {method!r}")
    if points < 2 or (method == "sobol" and points & (points - 1)):
        rule = "a power of two" if method == "sobol" else "at least 2"
        raise SpecError(f"points: must be {rule}, got {points}")
    if not of:
        raise SpecError("of: must be at least one measure, such as p95, got none")

    def read_objectives(parts: Parts) -> tuple[Objective, ...]:
        return tuple(Objective(parts.find(name, "of")) for name in of)

    evaluator = Evaluator.create(
        scheme, over, read_objectives, experiment=experiment, out=out, workers=workers, executor=executor
    )
    measures = evaluator.objectives
    ranges, checked_seeds = evaluator.space, tuple(check_seeds(seeds))
    problem = {"num_vars": len(ranges), "names": list(ranges), "bounds": [[0.0, 1.0]] * len(ranges)}
    sampled = _sample(problem, method, points)
    settings = np.unique(sampled, axis=0).tolist()
    logger.info(
        f"{len(settings)} settings under {len(checked_seeds)} {'seed' if len(checked_seeds) == 1 else 'seeds'} each"
    )
    with evaluator.with_executor() as running:
        values = running.evaluate([tuple(point) for point in settings], checked_seeds)
    if None in values:
        reason = f": {evaluator.errors[-1]}" if evaluator.errors else ""
        raise SpecError(f"over: every setting in the ranges must be possible and have values{reason}")
    means = {
        tuple(point): [float(values.mean()) for values in by_measure or ()]
        for point, by_measure in zip(settings, values, strict=True)
    }
    rows = []
    for number, measure in enumerate(measures):
        outputs = np.array([means[tuple(point)][number] for point in sampled.tolist()])
        indices = _analyze(problem, method, sampled, outputs)
        for index, name in enumerate(ranges):
            row = {column: float(indices[key][index]) for key, column in _COLUMNS[method].items()}
            rows.append({"measure": measure.name, "unit": measure.unit, "parameter": name, **row})
    first = next(iter(_COLUMNS[method].values())) if method == "morris" else "ST"
    order = [measure.name for measure in measures]
    frame = pl.DataFrame(rows).sort(pl.col("measure").replace_strict(order, range(len(order))), -pl.col(first))
    return Sensitivity(scheme, ranges, method, len(settings), checked_seeds, frame)


def _sample(problem: dict[str, Any], method: Method, points: int) -> NDArray[np.float64]:
    from SALib.sample import morris, sobol

    if method == "morris":
        sampled: NDArray[np.float64] = morris.sample(problem, points, num_levels=_LEVELS, seed=1)
    else:
        sampled = sobol.sample(problem, points, calc_second_order=False, seed=1)
    return np.round(sampled, 9)


def _analyze(
    problem: dict[str, Any], method: Method, sampled: NDArray[np.float64], outputs: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    from SALib.analyze import morris, sobol

    if np.ptp(outputs) == 0:
        # A constant measure: SALib would divide by its variance.
        return {name: np.zeros(len(problem["names"])) for name in _COLUMNS[method]}
    if method == "morris":
        analyzed: dict[str, NDArray[np.float64]] = morris.analyze(problem, sampled, outputs, num_levels=_LEVELS, seed=1)
    else:
        analyzed = sobol.analyze(problem, outputs, calc_second_order=False, seed=1)
    return analyzed
