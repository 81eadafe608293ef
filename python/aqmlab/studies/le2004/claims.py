"""Claims of Le et al. (2004): the words of ``study.toml``, and the parts that no sentence expresses."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.studies.kit.claims.predicates import Greater, InRange, Part
from aqmlab.studies.kit.claims.quantities import AREA, Quantity, count_greater, quantity
from aqmlab.studies.kit.claims.written import reviewed_claims
from aqmlab.studies.kit.study import description
from aqmlab.studies.le.quantities import LOSS, vocabulary
from aqmlab.studies.le.schemes import BASE, CONTROLLED, PI_24, REM_24, UNCONGESTED, PaperScheme
from aqmlab.studies.le2004.schemes import AREDS, BYTE, LOADS, PI_REM, areds


def _effect(scheme: PaperScheme, load: int, rtt: str) -> Quantity:
    """Return the mean distance of a scheme's curve from drop-tail's, above or below."""
    one, other = quantity(AREA, scheme.at(load, rtt)), quantity(AREA, BASE.at(load, rtt))
    return Quantity(
        what=f"distance of {one.runs[0]} from drop-tail on average, points",
        runs=(*one.runs, *other.runs),
        read=lambda some: abs(one.read(some[:1]) - other.read(some[1:])),
        printed=lambda printed: None,
    )


_ARED_LOSSES = [
    (quantity(LOSS, marking.at(load)), quantity(LOSS, dropping.at(load)))
    for load in LOADS
    for mode in ("packet", "byte")
    for marking, dropping in zip(areds(mode, "ecn"), areds(mode), strict=True)
]
"""Losses with and without ECN in each of the eight experiments."""

_FURTHER: dict[str, Sequence[Part]] = {
    "le2004-36": [
        Greater(one=_effect(scheme, load, "uniform"), than=_effect(scheme, load, "general"))
        for load in LOADS
        for scheme in (PI_24, REM_24, BYTE, *CONTROLLED)
    ],
    "le2004-37": [InRange(value=count_greater("ARED experiments that lose more with ECN", _ARED_LOSSES), low=6)],
}

CLAIMS = reviewed_claims(description(__package__).claim, vocabulary([UNCONGESTED, BASE, *PI_REM, *AREDS]), _FURTHER)
