"""Kuzmanovic (2005): ECN on the SYN/ACK."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.kuzmanovic2005 import figures, runs, tables
from aqmlab.studies.kuzmanovic2005.claims import CLAIMS, printed


class Kuzmanovic2005(Study, package=__package__):
    """ECN and ECN+ with RED, RED*, REM and PI under web users, and the queue of bursts."""

    name = "kuzmanovic2005"
    kernel_length = "ECN+ marks a SYN/ACK, which Linux does not answer"
    claims = CLAIMS

    def runs(self, length: Length) -> Sequence[Run]:
        """Return the experiments."""
        return list(runs.runs(length))

    def printed(self) -> PrintedTables:
        """Return the rows of table 1 in our copy."""
        return printed()

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return Table 1, and tables of response times, handshakes and queues."""
        return tables.tables(results)

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return figures 5 to 8."""
        return figures.figures(results)


STUDY = Kuzmanovic2005()
