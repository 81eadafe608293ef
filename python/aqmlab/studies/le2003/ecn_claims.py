"""Claims of Le et al. (2003) on their experiments with ECN, and on all schemes, sections 5 to 7.

A comment names each claim whose first reading was too lax, wrong or nearly empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.studies.kit.claims.builders import (
    better,
    close,
    fewer,
    little_change,
    more,
    much_better,
    no_worse,
    not_better,
    same,
)
from aqmlab.studies.kit.claims.predicates import CLOSE, SAME, Greater, InRange
from aqmlab.studies.kit.claims.quantities import Quantity, change_percent, difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.le.comparisons import compare, run_names
from aqmlab.studies.le.quantities import (
    COMPLETED,
    CROSSING_MS,
    LOSS,
    MBPS,
    about_percent,
    completed_within,
    gain,
    little_loss,
    rises,
    same_tail,
)
from aqmlab.studies.le.schemes import BASE, CONTROLLED, PI_24, PI_ECN, REM_24, REM_ECN, UNCONGESTED
from aqmlab.studies.le2003.schemes import ARED, ARED_120, ARED_ECN, DROPPING, LOADS, MARKING, PAIRS

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
            (
                compare(80, same, dropping, marking),
                same_tail(1, marking.at(80), dropping.at(80)),
                compare(80, little_change, marking, dropping, column=COMPLETED, limit=SAME),
            )
            for dropping, marking in PAIRS
        ),
    ),
    reviewed_claim(
        "le2003-29",
        "PI performs better with ECN; there is little change",
        compare(90, better, PI_ECN, PI_24),
        compare(90, close, *reversed(PAIRS[1])),
    ),
    reviewed_claim(
        "le2003-30",
        "significantly improves performance for PI at both target queue lengths",
        (compare(98, much_better, marking, dropping) for dropping, marking in PAIRS[:2]),
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
        (compare(load, close, *pair) for load in LOADS for pair in PAIRS[4:]),
    ),
    reviewed_claim(
        "le2003-33",
        "PI and REM with ECN give very similar performance",
        (compare(load, close, MARKING[n], MARKING[n + 2]) for load in (90, 98) for n in (0, 1)),
    ),
    reviewed_claim(
        "le2003-34",
        "better loss ratios, although there is little difference in link utilization",
        (
            compare(load, relation, marking, dropping, column=column)
            for load in (90, 98)
            for dropping, marking in PAIRS[:2]
            for relation, column in ((fewer, LOSS), (little_change, COMPLETED), (little_change, MBPS))
        ),
    ),
    reviewed_claim(
        "le2003-35",
        "lowered loss ratios, increases in link utilization, and increases in number",
        (
            compare(load, relation, marking, dropping, column=column)
            for load in (90, 98)
            for dropping, marking in PAIRS[2:4]
            for relation, column in ((fewer, LOSS), (more, COMPLETED), (more, MBPS))
        ),
    ),
    # Too lax: better has a direction.
    reviewed_claim(
        "le2003-36",
        "Its loss ratios are only marginally better with ECN",
        (
            (
                compare(load, fewer, marking, dropping, column=LOSS),
                little_loss(marking.at(load), dropping.at(load)),
                (compare(load, little_change, marking, dropping, column=column) for column in (COMPLETED, MBPS)),
            )
            for load in (90, 98)
            for dropping, marking in PAIRS[4:]
        ),
    ),
    reviewed_claim(
        "le2003-37",
        "surprisingly close to that on an un-congested link and is better",
        compare(90, close, UNCONGESTED, CONTROLLED),
        compare(90, better, CONTROLLED, BASE),
    ),
    reviewed_claim(
        "le2003-38",
        "Approximately 90% of all responses complete in 500 milliseconds",
        about_percent(500, 90, *run_names(90, CONTROLLED)),
        about_percent(500, 95, UNCONGESTED.at(90)),
    ),
    reviewed_claim(
        "le2003-39",
        "noticeable response time degradation; far superior to those obtained with drop-tail",
        compare(98, better, UNCONGESTED, CONTROLLED),
        compare(98, much_better, CONTROLLED, BASE),
    ),
    reviewed_claim(
        "le2003-40",
        "substantially lower packet loss rates; utilizations that are only modestly lower",
        (
            (
                InRange(value=change_percent(LOSS, scheme.at(98), BASE.at(98)), high=-50),
                compare(98, fewer, scheme, BASE, column=MBPS),
                compare(98, little_change, scheme, BASE, column=MBPS),
            )
            for scheme in CONTROLLED
        ),
    ),
    reviewed_claim(
        "le2003-41",
        "virtually identical and only marginally worse than was observed at 98%",
        compare(105, close, PI_ECN, REM_ECN),
        (close(scheme.at(105), scheme.at(98)) for scheme in CONTROLLED),
        (no_worse(scheme.at(98), scheme.at(105)) for scheme in CONTROLLED),
    ),
    reviewed_claim(
        "le2003-42",
        "few additional request-response exchanges are completed at 105% load",
        (
            InRange(value=change_percent(COMPLETED, scheme.at(105), scheme.at(98)), low=0, high=CLOSE)
            for scheme in CONTROLLED
        ),
    ),
    reviewed_claim(
        "le2003-43",
        "significantly worse than PI and REM except for the shortest 40%",
        (
            (
                compare(load, much_better, scheme, ARED_ECN, from_ms=125),
                compare(load, close, scheme, ARED_ECN, to_ms=125),
            )
            for load in (90, 98, 105)
            for scheme in CONTROLLED
        ),
    ),
    reviewed_claim(
        "le2003-44",
        "the crossover point occurs earlier, at approximately 5 seconds",
        (
            (compare(98, more, scheme, BASE, column=before), compare(98, more, BASE, scheme, column=after))
            for scheme in CONTROLLED
            for before, after in [map(completed_within, CROSSING_MS)]
        ),
    ),
    reviewed_claim(
        "le2003-45",
        "response time performance is consistently worse with ARED than with drop-tail",
        compare(LOADS, better, BASE, (ARED, ARED_120)),
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
        compare(98, fewer, PI_24, (REM_24, ARED), column=_SLOW),
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
        compare(80, not_better, (*DROPPING, *MARKING), BASE),
        compare(80, close, UNCONGESTED, (BASE, *DROPPING, *MARKING)),
    ),
)
