"""L4S beside Classic traffic as a study: which flow harms which, in the queues of published matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.l4s import claims, figures, matrix, tables


class L4s(Study, package=__package__):
    """Prague beside CUBIC, Reno and BBR in single, fair and coupled queues."""

    name: ClassVar[str] = "l4s"
    kernel_length = "Linux has no Prague"
    claims = claims.CLAIMS

    def runs(self, length: Length) -> Sequence[Run]:
        """Return the cases of the length."""
        return [
            Run(name=case.name, experiment=case.experiment(length.protocol), label=case.name)
            for case in matrix.cases(length.name)
        ]

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return harm and shares in every queue, then the numbers of all runs."""
        return tables.tables(results)

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return shares over the matrix, and delays."""
        return figures.figures(results)


STUDY = L4s()
