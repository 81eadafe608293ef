"""Measuring a calibration: the uncongested network at several numbers of users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aqmlab import _core, presets
from aqmlab._core import SpecError
from aqmlab.calibration import Calibration, fit
from aqmlab.cell import Cell, make_cell
from aqmlab.result import Result
from aqmlab.spec import Experiment

USERS_PER_SIDE = (3500, 7000, 10500, 14000, 17500)
"""Where the line is measured: 7,000 to 35,000 users in all, as in Le et al. (2003, figure 3)."""


def calibration_cells(experiment: Experiment, seeds: Iterable[int]) -> list[Cell]:
    """Return the cells that measure the line for an experiment's workload, round-trip times and hosts."""
    uncongested = presets.uncongested(experiment)
    return [
        make_cell(
            uncongested.model_copy(
                update={"users": experiment.users.model_copy(update={"load": None, "per_side": users})}
            ),
            seed=seed,
            load_percent=None,
            label="uncongested",
            uncongested=True,
        )
        for users in USERS_PER_SIDE
        for seed in seeds
    ]


def fitted(experiment: Experiment, results: Sequence[Result]) -> Calibration:
    """Fit the line to the results of :func:`calibration_cells`.

    Raises
    ------
    SpecError
        When they were measured for too short a time to give one.
    """
    users = tuple(result.cell.users_per_side for result in results)
    throughput = tuple(result.summary["throughput_mbps"] for result in results)
    if not any(throughput):
        measured = experiment.protocol.duration
        raise SpecError(f"protocol.duration: must be long enough for users to be answered, got {measured}")
    slope, r_squared = fit(users, throughput)
    return Calibration(
        workload=experiment.users.workload,
        rtt=experiment.users.rtt,
        mbps_per_user=slope,
        r_squared=r_squared,
        users_per_side=users,
        throughput_mbps=throughput,
        engine=_core.engine_version(),
    )
