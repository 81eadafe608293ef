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

_ABOUT = """
Seven algorithms, among them the authors' load/delay controllers (LDC), under web sessions of ns-2 with UDP beside them,
and LDC's own settings under long transfers. LDC drops with a probability made of average queueing delay and load.

The study's `runs.py` and `gfc2.py` list the settings that the paper does not print and that we inferred: the web
sessions are those of ns-2's own example, with pages that do not wait for each other, as in the version that was used;
GFC-2's links are the original's with kbit/s for Mbit/s. FTP goes against the web's pages, as the paper says, UDP with
them, as its tables show. TCP is ns-2's of the time, with a handshake that ns-2's one-way agents lack; senders never
give up.

Measures are the paper's table 1: a response time is a session's, from its first request until its last page has come,
of five pages in our reading; a delay is a packet's from sender to receiver; throughput is data delivered in order, in
both directions, so that requests count as well, with packets of 1,000 bytes counted whole as ns-2's segments are, which
have no headers. The registered claims keep their own measures: pages, the queue, bytes of data.
"""

_CLOSELY = "2 ms"
"""Sampling interval of LDC itself, so that the load of a span is the mean of its samples; and so that no burst comes
and goes between two samples of BLUE's queue."""
_DELAY_WEIGHTS = {"delay": 1.0, "load": 0.0, "half": 0.5, "paper": 0.75}
_OTHERS: dict[str, dict[str, int | str]] = {"n=2": {"n": 2}, "n=4": {"n": 4}, "tau=10 ms": {"tau": "10 ms"}}


class Kwon2003(Study):
    """The comparison of LDC with six other algorithms."""

    name: ClassVar[str] = "kwon2003"
    title: ClassVar[str] = "Kwon and Fahmy: load-based and queue-based algorithms"
    about: ClassVar[str] = _ABOUT
    sources: ClassVar[dict[str, str]] = {
        "kwon2003": "M. Kwon, S. Fahmy: A Comparison of Load-based and Queue-based Active Queue Management Algorithms."
        " Proc. SPIE 4866, 2002",
        "GFC-2": "R. Simcoe: Test Configurations for Fairness and Other Tests. ATM Forum 94-0557, 1994",
    }
    lengths: ClassVar[dict[str, Length]] = {
        "quick": Length(name="quick", warmup="0 s", duration="300 s", seeds=3),
        "default": Length(name="default", warmup="0 s", duration="900 s", seeds=5),
        "full": Length(name="full", warmup="0 s", duration="900 s", seeds=20, first_seed=41),
    }
    claims: ClassVar[Sequence[ReviewedClaim]] = claims.CLAIMS
    front: ClassVar[Sequence[str]] = ("table3", "figure8")

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
