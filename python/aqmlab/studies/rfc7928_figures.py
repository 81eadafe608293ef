"""RFC 7928's figures."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.schemes import Scheme
from aqmlab.study import Figure, StudyResults


def figures(results: StudyResults, schemes: Sequence[Scheme]) -> list[Figure]:
    """Return all figures."""
    return []
