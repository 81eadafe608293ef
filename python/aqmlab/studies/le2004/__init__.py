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
    PI_24,
    PI_ECN,
    REM_24,
    REM_ECN,
    TARGETS,
    UNCONGESTED,
    PaperScheme,
    pi,
    rem,
)
from aqmlab.studies.le2004.claims import CLAIMS
from aqmlab.studies.le2004.schemes import (
    AREDS,
    BYTE,
    BYTE_ECN,
    BYTE_NEW,
    GENERAL,
    LOADS,
    PACKET_120,
    PACKET_120_NEW,
    PACKET_ECN,
    PACKET_NEW,
    PI_REM,
    areds,
)
from aqmlab.ui.canvas import LineStyles


class Le2004(Study, package=__package__):
    """The same users behind PI_24, REM and both modes of ARED, with uniform and general round-trip times."""

    name: ClassVar[str] = "le2004"
    lengths: ClassVar[Mapping[str, Length]] = LENGTHS
    kernel_length: ClassVar[Length | None] = KERNEL_LENGTH
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
        styles = LineStyles(UNCONGESTED.label)
        (uncongested,) = results[UNCONGESTED.recorded_at(98, "general")]

        def cdf(name: str, caption: str, schemes: Sequence[PaperScheme], *loads: int, tail: bool = False) -> Figure:
            return le_figures.response_times(results, styles, name, caption, schemes, loads or LOADS, tail=tail)

        dropping = (BASE, PI_24, REM_24, BYTE)
        marking = (BASE, PI_ECN, REM_ECN, BYTE)
        figures = [
            le_figures.round_trips("fig02-03", uncongested),
            le_figures.users("fig04", ["uniform", "general"]),
            cdf("fig05", "Figure 5: PI with dropped packets.", [pi(target) for target in TARGETS]),
            cdf("fig06", "Figure 6: REM with dropped packets.", [rem(target) for target in TARGETS]),
            cdf("fig07", "Figure 7: ARED in packet mode with dropped packets.", areds("packet")),
            cdf("fig08", "Figure 8: ARED in byte mode with dropped packets.", areds("byte")),
            cdf("fig09-10", "Figures 9 and 10: the best of each with dropped packets.", dropping),
            cdf("fig11", "Figure 11: the tails, with dropped packets, 98 % load.", dropping, 98, tail=True),
            cdf(
                "fig12-13",
                "Figures 12 and 13: PI with and without ECN.",
                [pi(t, ecn=ecn) for t in TARGETS for ecn in (False, True)],
            ),
            cdf(
                "fig14-15",
                "Figures 14 and 15: REM with and without ECN.",
                [rem(t, ecn=ecn) for t in TARGETS for ecn in (False, True)],
            ),
        ]
        for n, mode in enumerate(("packet", "byte")):
            both = [scheme for pair in zip(areds(mode), areds(mode, "ecn"), strict=True) for scheme in pair]
            first = 16 + 2 * n
            figures.append(
                cdf(
                    f"fig{first}-{first + 1}",
                    f"Figures {first} and {first + 1}: ARED in {mode} mode with and without ECN.",
                    [BASE, *both],
                )
            )
        figures += [
            cdf(
                "fig20-21",
                "Figures 20 and 21: ARED with ECN, without and with marks in the gentle region.",
                (BASE, PACKET_ECN, PACKET_NEW, BYTE, BYTE_ECN, BYTE_NEW),
            ),
            cdf("fig22-23", "Figures 22 and 23: the best of all.", marking),
            cdf("fig24", "Figure 24: the tails of the best of all, 98 % load.", marking, 98, tail=True),
        ]
        general = {
            "fig25-26": (
                "Figures 25 and 26: general round-trip times, with dropped packets.",
                (BASE, PI_24, REM_24, PACKET_120, BYTE),
            ),
            "fig27-28": (
                "Figures 27 and 28: general round-trip times, with ECN.",
                (BASE, PI_ECN, REM_ECN, PACKET_120_NEW, BYTE_NEW),
            ),
        }
        return [
            *figures,
            *(
                le_figures.response_times(results, styles, name, caption, schemes, LOADS, rtt="general")
                for name, (caption, schemes) in general.items()
            ),
        ]


STUDY = Le2004()
