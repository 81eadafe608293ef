"""The measurement of a calibration: runs on the uncongested network with several numbers of users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aqmlab._core import SpecError, engine_version
from aqmlab.cells.calibration_model import Calibration, fit
from aqmlab.cells.cell import Cell, cells_of, with_users
from aqmlab.spec.experiment import Experiment
from aqmlab.store.result import Result

USERS_PER_SIDE = (3500, 7000, 10500, 14000, 17500)
"""The default numbers of users: 7,000 to 35,000 in all, as in Le et al. (2003, figure 3)."""


MAX_UTILISATION = 0.9
"""The largest utilisation of a calibration run: a busier network may limit the users."""


def user_counts(max_users: int) -> tuple[int, ...]:
    """Return five numbers of users on each side, spread like the paper's, up to ``max_users``."""
    return tuple(max(1, round(max_users * users / USERS_PER_SIDE[-1])) for users in USERS_PER_SIDE)


def calibration_cells(
    experiment: Experiment, seeds: Iterable[int], users_per_side: Sequence[int] = USERS_PER_SIDE
) -> list[Cell]:
    """Return the cells that measure the line for an experiment's workload, round-trip times and hosts.

    Parameters
    ----------
    experiment
        The experiment with the users, hosts and protocol.
    seeds
        The seeds; there is one cell for each seed and number of users.
    users_per_side
        The numbers of users; a workload with more traffic for each user needs fewer users.
    """
    return [
        cell
        for users in users_per_side
        for cell in cells_of(with_users(experiment, users), seeds, label="uncongested", uncongested=True)
    ]


def fit_calibration(
    experiment: Experiment, results: Sequence[Result], users_per_side: Sequence[int] | None = None
) -> Calibration:
    """Fit the line to the results of :func:`calibration_cells`.

    Parameters
    ----------
    experiment
        The experiment of the cells.
    results
        The results of all cells, in their order.
    users_per_side
        The numbers of households in the order of the cells, of which the results have only the web users.

    Raises
    ------
    SpecError
        When the runs were too short to complete requests, or so busy that the network may have limited the users.
    """
    if users_per_side is None:
        users = tuple(result.cell.users_per_side for result in results)
    else:
        seeds = len(results) // len(users_per_side)
        users = tuple(number for number in users_per_side for _ in range(seeds))
    for number, result in zip(users, results, strict=True):
        utilisation = _loaded_direction(result, experiment.users.sides)["utilisation"]
        if utilisation > MAX_UTILISATION:
            raise SpecError(
                f"users: {number:,} on each side used {100 * utilisation:.3g} % of the link: to be"
                f" measured they must use at most {100 * MAX_UTILISATION:g} %"
            )
    workload, rtt = experiment.users.names
    sides = experiment.users.sides
    throughput = tuple(_loaded_direction(result, sides)["throughput_mbps"] for result in results)
    if not any(throughput):
        duration = experiment.protocol.duration
        raise SpecError(f"protocol.duration: must be long enough for users to be answered, got {duration}")
    slope, r_squared = fit(users, throughput)
    return Calibration(
        workload=workload,
        rtt=rtt,
        sides=sides,
        mbps_per_user=slope,
        r_squared=r_squared,
        users_per_side=users,
        throughput_mbps=throughput,
        engine=engine_version(),
    )


def _loaded_direction(result: Result, sides: int) -> Mapping[str, Any]:
    """Return the measures of both directions; for users on side 0 alone, of the direction of their data."""
    summary: Mapping[str, Any] = result.summary
    return summary if sides == 2 else summary["directions"][1]
