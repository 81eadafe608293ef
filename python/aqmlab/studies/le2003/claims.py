"""Claims of Le et al. (2003): the words of ``study.toml``, and the parts that no sentence expresses."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.studies.kit.claims.builders import within
from aqmlab.studies.kit.claims.predicates import BETTER, SAME, Greater, InRange, Part
from aqmlab.studies.kit.claims.quantities import Column, Quantity, difference, quantity
from aqmlab.studies.kit.claims.written import reviewed_claims
from aqmlab.studies.kit.study import description
from aqmlab.studies.le.hurst import HurstWithin
from aqmlab.studies.le.quantities import MBPS, gain, rises, vocabulary
from aqmlab.studies.le.schemes import PI_24, UNCONGESTED, droptail
from aqmlab.studies.le2003.schemes import DROPPING, DROPTAILS, MARKING, PAIRS, SWEEP

_SMALL_BYTES = 8192
_SLOW = rises(1_000, 64_000, below_bytes=_SMALL_BYTES)
_MBPS_PER_USER = Column(
    what="throughput for each user, Mbit/s", measure=lambda result: MBPS.measure(result) / result.cell.users_per_side
)


def _timeouts(run: str) -> list[Part]:
    """Claim that a curve is flat before 1 s and rises after it, more than that of the uncongested network."""
    flat, step = rises(600, 950), rises(1_000, 1_350)
    return [
        within(flat, run, high=SAME),
        Greater(one=quantity(step, run), than=quantity(flat, run)),
        InRange(value=difference(quantity(step, run), quantity(step, UNCONGESTED.at(98))), low=BETTER),
    ]


def _band(at_s: float, run: str) -> Quantity:
    """Return the excess of small responses in a band at whole seconds."""
    half_a_second = ((1000 * (at_s + begin), 1000 * (at_s + begin + 0.5)) for begin in (0, -0.5))
    at, before = (rises(*between, below_bytes=_SMALL_BYTES) for between in half_a_second)
    return difference(quantity(at, run), quantity(before, run))


_FURTHER: dict[str, Sequence[Part]] = {
    "le2003-02": [HurstWithin(run=UNCONGESTED.recorded_at(98), low=0.8, high=0.9)],
    "le2003-08": [part for limit in (24, 240) for part in _timeouts(droptail(limit).at(98))],
    # REM's gain by ECN is above those of PI and ARED with the same target or thresholds.
    "le2003-31": [
        Greater(one=gain(marking.at(load), dropping.at(load)), than=gain(other_ecn.at(load), other.at(load)))
        for load in (90, 98)
        for n, (dropping, marking) in enumerate(PAIRS[2:4])
        for other, other_ecn in (PAIRS[n], PAIRS[4 + n])
    ],
    "le2003-46": [
        InRange(value=_band(6, PI_24.at(98)), low=0),
        Greater(one=_band(6, PI_24.at(98)), than=_band(3, PI_24.at(98))),
    ],
}

CLAIMS = reviewed_claims(
    description(__package__).claim,
    vocabulary(
        [UNCONGESTED, *DROPTAILS, *DROPPING, *MARKING, *SWEEP],
        columns=[_SLOW, _MBPS_PER_USER],
        lists={
            "drop-tail of three lengths": DROPTAILS,
            "dropping": DROPPING,
            "marking": MARKING,
            "dropping and marking": (*DROPPING, *MARKING),
            "other weights": SWEEP,
        },
    ),
    _FURTHER,
)
