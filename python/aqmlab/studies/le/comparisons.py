"""Claims of Le et al. as comparisons of schemes under loads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from aqmlab.studies.kit.claims.predicates import Part
from aqmlab.studies.le.schemes import PaperScheme

Schemes = PaperScheme | Sequence[PaperScheme]


Relation = Callable[..., Iterable[Part]]
"""A relation of a run to others, such as :func:`~aqmlab.studies.kit.claims.builders.better`."""


def run_names(load: int, schemes: Schemes, rtt: str = "uniform") -> list[str]:
    """Return the names of the schemes' runs under a load."""
    return [scheme.at(load, rtt) for scheme in ([schemes] if isinstance(schemes, PaperScheme) else schemes)]


def compare(
    loads: int | Sequence[int],
    relation: Relation,
    ones: Schemes,
    others: Schemes = (),
    *,
    rtt: str = "uniform",
    **options: Any,
) -> Iterable[Part]:
    """Claim a relation of each scheme to each of the others, under each load; ``options`` are the relation's."""
    for load in [loads] if isinstance(loads, int) else loads:
        for one in run_names(load, ones, rtt):
            yield from relation(one, *run_names(load, others, rtt), **options)
