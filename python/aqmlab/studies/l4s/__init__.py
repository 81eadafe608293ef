"""L4S beside Classic traffic as a study: which flow harms which, in the queues of published matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.l4s import claims, matrix


class L4s(Study, package=__package__):
    """Prague beside CUBIC, Reno and BBR in single, fair and coupled queues."""

    name: ClassVar[str] = "l4s"
    claims = claims.CLAIMS

    def runs(self, length: Length) -> Sequence[Run]:
        """Return the cases of the length."""
        return [
            Run(name=case.name, experiment=case.experiment(length.protocol), label=case.name)
            for case in matrix.cases(length.name)
        ]

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return no table yet."""
        return []

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return no figure yet."""
        return []


STUDY = L4s()
