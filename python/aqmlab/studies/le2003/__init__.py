"""Le, Aikat, Jeffay and Smith, "The Effects of Active Queue Management on Web Performance", SIGCOMM 2003."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from aqmlab.spec import testbeds
from aqmlab.spec.experiment import Experiment
from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.le import accounting
from aqmlab.studies.le import figures as le_figures
from aqmlab.studies.le import tables as le_tables
from aqmlab.studies.le.hurst import hurst_table
from aqmlab.studies.le.quantities import printed_tables
from aqmlab.studies.le.schemes import (
    KERNEL_LENGTH,
    LENGTHS,
    PI_24,
    PI_ECN,
    UNCONGESTED,
)
from aqmlab.studies.le2003.claims import CLAIMS
from aqmlab.studies.le2003.schemes import (
    ARED,
    DROPPING,
    DROPTAILS,
    LOADS,
    MARKING,
    PAIRS,
    REM_EVERY,
    REM_PERIODS,
    SWEEP,
    USERS,
    of_users,
)
from aqmlab.ui.canvas import LineStyles

_SWEPT = (90, 98)

_SCATTERED = (PI_24, PI_ECN)


class Le2003(Study, package=__package__):
    """Web users behind drop-tail, PI, REM and ARED, with and without ECN, from 80 to 105 % load."""

    name: ClassVar[str] = "le2003"
    lengths: ClassVar[Mapping[str, Length]] = LENGTHS
    kernel_length: ClassVar[Length | str] = KERNEL_LENGTH
    claims: ClassVar[Sequence[ReviewedClaim]] = CLAIMS

    def runs(self, length: Length) -> Sequence[Run]:
        """Return a run for each scheme and load, and those that record each request."""
        compared = [
            scheme.run(load, length) for load in LOADS for scheme in (UNCONGESTED, *DROPTAILS, *DROPPING, *MARKING)
        ]
        calibrated = [_users(users, length) for users in USERS]
        clocked = [
            replace(scheme.run(load, length), seeds=1)
            for load in _SWEPT
            for schemes in REM_EVERY.values()
            for scheme in schemes
            if scheme not in DROPPING
        ]
        swept = [scheme.run(load, length) for load in _SWEPT for scheme in SWEEP]
        recorded = [scheme.recorded(98, length) for scheme in _SCATTERED]
        return [
            *compared,
            *calibrated,
            *swept,
            *clocked,
            *recorded,
            UNCONGESTED.recorded(98, length, link_every="1 ms"),
        ]

    def printed(self) -> PrintedTables:
        """Return table 2."""
        return printed_tables("le2003-t2")

    def contradiction(self, run: str) -> str | None:
        """Return the reason why the paper's numbers of a run contradict each other."""
        return accounting.contradiction(self.name, run)

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return table 2, and numbers that the paper gives in words or figures alone."""
        (uncongested,) = results[UNCONGESTED.recorded_at(98)]
        pairs = [scheme for pair in PAIRS for scheme in pair]
        return [
            le_tables.compare_published(
                results,
                name="table2",
                title="Table 2: loss, completed requests and throughput",
                rows_of="le2003-t2",
                schemes=(UNCONGESTED, *DROPTAILS, *pairs),
                loads=LOADS,
            ),
            le_tables.weights(results, (ARED, *SWEEP), _SWEPT),
            le_tables.users(["uniform"]),
            le_tables.response_sizes(uncongested),
            hurst_table(uncongested),
        ]

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return the paper's figures 2 to 26."""
        (uncongested,) = results[UNCONGESTED.recorded_at(98)]
        *distributions, tails_with_ecn = le_figures.response_times(
            results, LineStyles(UNCONGESTED.label), __package__, (*DROPTAILS, *DROPPING, *MARKING)
        )
        return [
            le_figures.users("fig02", ["uniform"]),
            le_figures.response_sizes("fig03-04", uncongested),
            *distributions,
            le_figures.rem_periods(results, "rem-period", REM_PERIODS, REM_EVERY, _SWEPT),
            tails_with_ecn,
            le_figures.scatter(
                results,
                "fig25-26",
                "Figures 25 and 26: size and response time of each request under PI at 98 % load, as a density. Bands"
                " at whole seconds are timeouts.",
                _SCATTERED,
                98,
            ),
        ]


def _users(users: int, length: Length) -> Run:
    """Return the run of a number of users, half of them on each side, on the uncongested network."""
    experiment = Experiment(testbed=testbeds.PAPERS, users={"per_side": users // 2}, protocol=length.protocol)
    return Run(name=of_users(users), experiment=experiment, label=f"{users:,} users", uncongested=True)


STUDY = Le2003()
