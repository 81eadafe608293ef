"""Claims of Le et al. (2003) on their experiments with ECN, and on all schemes, sections 5 to 7.

A comment names each claim whose first reading was too lax, wrong or nearly empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.studies.kit.claims.builders import (
    better,
    changes_by,
    close,
    fewer,
    more,
    much_better,
    no_worse,
    not_better,
    same,
)
from aqmlab.studies.kit.claims.predicates import CLOSE, SAME, Greater, InRange
from aqmlab.studies.kit.claims.quantities import Quantity, change_percent, difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.le.quantities import (
    COMPLETED,
    CROSSING_MS,
    LOSS,
    MBPS,
    about_percent,
    answered,
    gain,
    little_loss,
    rises,
    same_tail,
)
from aqmlab.studies.le.schemes import UNCONGESTED, ared, pi, rem
from aqmlab.studies.le2003.schemes import (
    ARED,
    ARED_ECN,
    ARED_MIN,
    BASE,
    DROPPING,
    LOADS,
    MARKING,
    PAIRS,
    PI_24,
    PI_240,
    PI_ECN,
    REM_24,
    REM_ECN,
    TARGETS,
)

_CONTROLLED = (PI_ECN, REM_ECN)
_SMALL_BYTES = 8192
_SLOW = rises(1_000, 64_000, below_bytes=_SMALL_BYTES)


def _band(at_s: float, run: str) -> Quantity:
    """Return the excess of small responses in a band at whole seconds."""
    half_a_second = ((1000 * (at_s + begin), 1000 * (at_s + begin + 0.5)) for begin in (0, -0.5))
    at, before = (rises(*between, below_bytes=_SMALL_BYTES) for between in half_a_second)
    return difference(quantity(at, run), quantity(before, run))


ECN_CLAIMS: Sequence[ReviewedClaim] = (
    # Nearly empty: curves that nothing was signalled on. What a signal changes is beyond a second.
    reviewed_claim(
        "le2003-28",
        "no effect on response times of any of the AQM schemes",
        (
            part
            for dropping, marking in PAIRS
            for part in (
                *same(dropping.at(80), marking.at(80)),
                same_tail(1, marking.at(80), dropping.at(80)),
                changes_by(COMPLETED, marking.at(80), dropping.at(80), limit=SAME),
            )
        ),
    ),
    reviewed_claim(
        "le2003-29",
        "PI performs better with ECN; there is little change",
        better(PI_ECN.at(90), PI_24.at(90)),
        close(pi(240, ecn=True).at(90), PI_240.at(90)),
    ),
    reviewed_claim(
        "le2003-30",
        "significantly improves performance for PI at both target queue lengths",
        (part for target in TARGETS for part in much_better(pi(target, ecn=True).at(98), pi(target).at(98))),
    ),
    # Wrong: "most" compares the schemes.
    reviewed_claim(
        "le2003-31",
        "REM shows the most significant improvement in performance with ECN",
        (
            Greater(one=gain(marking.at(load), dropping.at(load)), than=gain(other_ecn.at(load), other.at(load)))
            for load in (90, 98)
            for n, (dropping, marking) in enumerate(PAIRS[2:4])
            for other, other_ecn in (PAIRS[n], PAIRS[4 + n])
        ),
    ),
    reviewed_claim(
        "le2003-32",
        "very little effect on the performance of ARED",
        (
            part
            for load in LOADS
            for dropping, marking in PAIRS[4:]
            for part in close(dropping.at(load), marking.at(load))
        ),
    ),
    reviewed_claim(
        "le2003-33",
        "PI and REM with ECN give very similar performance",
        (
            part
            for load in (90, 98)
            for target in TARGETS
            for part in close(pi(target, ecn=True).at(load), rem(target, ecn=True).at(load))
        ),
    ),
    reviewed_claim(
        "le2003-34",
        "better loss ratios, although there is little difference in link utilization",
        (
            part
            for load in (90, 98)
            for dropping, marking in PAIRS[:2]
            for part in (
                *fewer(LOSS, marking.at(load), [dropping.at(load)]),
                changes_by(COMPLETED, marking.at(load), dropping.at(load)),
                changes_by(MBPS, marking.at(load), dropping.at(load)),
            )
        ),
    ),
    reviewed_claim(
        "le2003-35",
        "lowered loss ratios, increases in link utilization, and increases in number",
        (
            part
            for load in (90, 98)
            for dropping, marking in PAIRS[2:4]
            for part in (
                *fewer(LOSS, marking.at(load), [dropping.at(load)]),
                *more(COMPLETED, marking.at(load), [dropping.at(load)]),
                *more(MBPS, marking.at(load), [dropping.at(load)]),
            )
        ),
    ),
    # Too lax: better has a direction.
    reviewed_claim(
        "le2003-36",
        "Its loss ratios are only marginally better with ECN",
        (
            part
            for load in (90, 98)
            for dropping, marking in PAIRS[4:]
            for part in (
                *fewer(LOSS, marking.at(load), [dropping.at(load)]),
                little_loss(marking.at(load), dropping.at(load)),
                changes_by(COMPLETED, marking.at(load), dropping.at(load)),
                changes_by(MBPS, marking.at(load), dropping.at(load)),
            )
        ),
    ),
    reviewed_claim(
        "le2003-37",
        "surprisingly close to that on an un-congested link and is better",
        close(UNCONGESTED.at(90), *(scheme.at(90) for scheme in _CONTROLLED)),
        (part for scheme in _CONTROLLED for part in better(scheme.at(90), BASE.at(90))),
    ),
    reviewed_claim(
        "le2003-38",
        "Approximately 90% of all responses complete in 500 milliseconds",
        about_percent(500, 90, *(scheme.at(90) for scheme in _CONTROLLED)),
        about_percent(500, 95, UNCONGESTED.at(90)),
    ),
    reviewed_claim(
        "le2003-39",
        "noticeable response time degradation; far superior to those obtained with drop-tail",
        better(UNCONGESTED.at(98), *(scheme.at(98) for scheme in _CONTROLLED)),
        (part for scheme in _CONTROLLED for part in much_better(scheme.at(98), BASE.at(98))),
    ),
    reviewed_claim(
        "le2003-40",
        "substantially lower packet loss rates; utilizations that are only modestly lower",
        (
            part
            for scheme in _CONTROLLED
            for part in (
                InRange(value=change_percent(LOSS, scheme.at(98), BASE.at(98)), high=-50),
                *fewer(MBPS, scheme.at(98), [BASE.at(98)]),
                changes_by(MBPS, scheme.at(98), BASE.at(98)),
            )
        ),
    ),
    reviewed_claim(
        "le2003-41",
        "virtually identical and only marginally worse than was observed at 98%",
        close(PI_ECN.at(105), REM_ECN.at(105)),
        (part for scheme in _CONTROLLED for part in close(scheme.at(105), scheme.at(98))),
        (part for scheme in _CONTROLLED for part in no_worse(scheme.at(98), scheme.at(105))),
    ),
    reviewed_claim(
        "le2003-42",
        "few additional request-response exchanges are completed at 105% load",
        (
            InRange(value=change_percent(COMPLETED, scheme.at(105), scheme.at(98)), low=0, high=CLOSE)
            for scheme in _CONTROLLED
        ),
    ),
    reviewed_claim(
        "le2003-43",
        "significantly worse than PI and REM except for the shortest 40%",
        (
            part
            for load in (90, 98, 105)
            for scheme in _CONTROLLED
            for part in (
                *much_better(scheme.at(load), ARED_ECN.at(load), from_ms=125),
                *close(scheme.at(load), ARED_ECN.at(load), to_ms=125),
            )
        ),
    ),
    reviewed_claim(
        "le2003-44",
        "the crossover point occurs earlier, at approximately 5 seconds",
        (
            part
            for scheme in _CONTROLLED
            for before, after in [map(answered, CROSSING_MS)]
            for part in (
                *more(before, scheme.at(98), [BASE.at(98)]),
                *more(after, BASE.at(98), [scheme.at(98)]),
            )
        ),
    ),
    reviewed_claim(
        "le2003-45",
        "response time performance is consistently worse with ARED than with drop-tail",
        (part for load in LOADS for min_th in ARED_MIN for part in better(BASE.at(load), ared(min_th).at(load))),
    ),
    # Too lax: there is a band at 6 s also where one lost SYN costs 3 s. It is to be the one that stands out.
    reviewed_claim(
        "le2003-46",
        "the band at 6 seconds representing the effects of a dropped",
        InRange(value=_band(6, PI_24.at(98)), low=0),
        Greater(one=_band(6, PI_24.at(98)), than=_band(3, PI_24.at(98))),
    ),
    reviewed_claim(
        "le2003-47",
        "does better in this regard than all the other AQM schemes",
        fewer(_SLOW, PI_24.at(98), [scheme.at(98) for scheme in (REM_24, ARED)]),
    ),
    reviewed_claim(
        "le2003-48",
        "the number of timeouts is greatly reduced",
        InRange(value=change_percent(_SLOW, PI_ECN.at(98), PI_24.at(98)), high=-50),
    ),
    # Nearly empty: nothing is better than the best there can be. Drop-tail is to be near that, and all schemes near it.
    reviewed_claim(
        "le2003-49",
        "no AQM scheme provides better response time; not substantially different from",
        (part for scheme in (*DROPPING, *MARKING) for part in not_better(scheme.at(80), BASE.at(80))),
        close(UNCONGESTED.at(80), *(scheme.at(80) for scheme in (BASE, *DROPPING, *MARKING))),
    ),
)
