"""Le, Aikat, Jeffay and Smith: the extended version of 2004, with ARED in byte mode and general round-trip times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.le import accounting
from aqmlab.studies.le import figures as le_figures
from aqmlab.studies.le import tables as le_tables
from aqmlab.studies.le.hurst import hurst_table
from aqmlab.studies.le.quantities import printed_tables
from aqmlab.studies.le.schemes import (
    BASE,
    KERNEL_LENGTH,
    LENGTHS,
    UNCONGESTED,
)
from aqmlab.studies.le2004.claims import CLAIMS
from aqmlab.studies.le2004.schemes import (
    AREDS,
    GENERAL,
    LOADS,
    PI_REM,
)
from aqmlab.ui.canvas import LineStyles


class Le2004(Study, package=__package__):
    """The same users behind PI_24, REM and both modes of ARED, with uniform and general round-trip times."""

    name: ClassVar[str] = "le2004"
    lengths: ClassVar[Mapping[str, Length]] = LENGTHS
    kernel_length: ClassVar[Length | str] = KERNEL_LENGTH
    claims: ClassVar[Sequence[ReviewedClaim]] = CLAIMS

    def runs(self, length: Length) -> Sequence[Run]:
        """Return a run for each scheme, load and kind of round-trip times, and one that records each request."""
        uniform = [scheme.run(load, length) for load in LOADS for scheme in (UNCONGESTED, BASE, *PI_REM, *AREDS)]
        general = [scheme.run(load, length, "general") for load in LOADS for scheme in (UNCONGESTED, *GENERAL)]
        return [*uniform, *general, UNCONGESTED.recorded(98, length, "general", link_every="1 ms")]

    def printed(self) -> PrintedTables:
        """Return tables 2 to 4."""
        return printed_tables("le2004-t2", "le2004-t3", "le2004-t4")

    def contradiction(self, run: str) -> str | None:
        """Return the reason why the paper's numbers of a run contradict each other."""
        return accounting.contradiction(self.name, run)

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return tables 2 to 4, and numbers that the paper gives in words or figures alone."""
        (uncongested,) = results[UNCONGESTED.recorded_at(98, "general")]
        return [
            le_tables.compare_published(
                results,
                name="table2",
                title="Table 2: PI and REM",
                rows_of="le2004-t2",
                schemes=(UNCONGESTED, BASE, *PI_REM),
                loads=LOADS,
            ),
            le_tables.compare_published(
                results, name="table3", title="Table 3: ARED", rows_of="le2004-t3", schemes=AREDS, loads=LOADS
            ),
            le_tables.compare_published(
                results,
                name="table4",
                title="Table 4: general round-trip times",
                rows_of="le2004-t4",
                schemes=(UNCONGESTED, *GENERAL),
                loads=LOADS,
                rtt="general",
            ),
            le_tables.users(["uniform", "general"]),
            hurst_table(uncongested),
        ]

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return the paper's figures 2 to 28."""
        (uncongested,) = results[UNCONGESTED.recorded_at(98, "general")]
        return [
            le_figures.round_trips("fig02-03", uncongested),
            le_figures.users("fig04", ["uniform", "general"]),
            *le_figures.response_times(results, LineStyles(UNCONGESTED.label), __package__, (BASE, *PI_REM, *AREDS)),
        ]


STUDY = Le2004()
