"""Kwon and Fahmy, "A comparison of load-based and queue-based active queue management algorithms", 2002."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aqmlab.spec.experiment import Protocol
from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.kwon2003 import claims, figures, gfc2, names, runs, tables
from aqmlab.studies.kwon2003.published import TABLE_5, published

_CLOSELY = "2 ms"
"""Sampling interval of LDC itself, so that the load of a span is the mean of its samples.

No burst in BLUE's queue starts and ends between two such samples.
"""
_DELAY_WEIGHTS = {"delay": 1.0, "load": 0.0, "half": 0.5, "paper": 0.75}
_OTHERS: dict[str, dict[str, int | str]] = {"n=2": {"n": 2}, "n=4": {"n": 4}, "tau=10 ms": {"tau": "10 ms"}}


class Kwon2003(Study, package=__package__):
    """The comparison of LDC with six other algorithms."""

    name: ClassVar[str] = "kwon2003"
    kernel_length = "it records each request, which a kernel does not report"
    claims: ClassVar[Sequence[ReviewedClaim]] = claims.CLAIMS

    def runs(self, length: Length) -> Sequence[Run]:
        """Return the experiments of the three configurations."""
        protocol = length.protocol
        ldc = runs.ldc
        return [
            *(
                Run(
                    name=names.web(algorithm),
                    experiment=runs.web(queue, protocol, queue_every=_CLOSELY if algorithm == "BLUE" else "10 ms"),
                    label=f"web {algorithm}",
                )
                for algorithm, queue in runs.QUEUES.items()
            ),
            Run(
                name=names.DELAY_TARGET,
                experiment=runs.web(ldc("1.6 s"), Protocol(warmup="0 s", duration="300 s")),
                label="web LDC, 1.6 s",
            ),
            Run(
                name=names.QUEUE_ONLY,
                experiment=runs.web(
                    ldc("4 s", delay_weight=1.0), Protocol(warmup="0 s", duration="100 s"), queue_every=_CLOSELY
                ),
                label="web LDC, queue only",
            ),
            *(
                Run(
                    name=names.ftp(setting),
                    experiment=runs.ftp(ldc("200 ms", delay_weight=weight), protocol),
                    label=f"ftp LDC {names.WEIGHTS[setting]}",
                )
                for setting, weight in _DELAY_WEIGHTS.items()
            ),
            *(
                Run(
                    name=names.ftp(setting),
                    experiment=runs.ftp(ldc("200 ms", **other), protocol),
                    label=f"ftp LDC {setting}",
                )
                for setting, other in _OTHERS.items()
            ),
            *(
                Run(name=names.gfc2(algorithm), experiment=gfc2.experiment(queue, protocol), label=f"GFC-2 {algorithm}")
                for algorithm, queue in runs.QUEUES.items()
            ),
            *(
                Run(
                    name=names.udp_against(algorithm),
                    experiment=gfc2.experiment(queue, protocol, udp_with_pages=False),
                    label=f"GFC-2 {algorithm}, UDP against pages",
                )
                for algorithm, queue in runs.QUEUES.items()
            ),
        ]

    def printed(self) -> PrintedTables:
        """Return table 3, and the rows of table 5 in our copy."""
        by_algorithm = published("mean").items()
        return {
            **{names.gfc2(algorithm): metrics for algorithm, metrics in by_algorithm},
            **{names.ftp(setting): metrics for setting, metrics in TABLE_5.items()},
        }

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return the tables."""
        return tables.all_tables(results)

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return the figures."""
        return figures.all_figures(results)


STUDY = Kwon2003()
