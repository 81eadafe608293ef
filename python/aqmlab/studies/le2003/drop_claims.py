"""Claims of Le et al. (2003) on their experiments with dropped packets, sections 3 and 4.

A comment names each claim whose first reading was too lax or wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.studies.kit.claims.builders import (
    better,
    close,
    fewer,
    more,
    much_better,
    no_worse,
    not_better,
    same,
    within,
)
from aqmlab.studies.kit.claims.predicates import BETTER, SAME, Approximately, Greater, InRange, Part
from aqmlab.studies.kit.claims.quantities import change_percent, difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.le.hurst import HurstWithin
from aqmlab.studies.le.quantities import COMPLETED, LOSS, MBPS, about_beyond, about_percent, answered, rises
from aqmlab.studies.le.schemes import UNCONGESTED, PaperScheme, ared, droptail, pi, rem
from aqmlab.studies.le2003.schemes import (
    ARED,
    ARED_MIN,
    BASE,
    DROPPING,
    DROPTAILS,
    LOADS,
    PI_24,
    PI_240,
    REM_24,
    REM_240,
    SWEEP,
    TARGETS,
)

_OTHERS = (BASE, REM_24, ARED)


def _names(schemes: Sequence[PaperScheme], load: int) -> list[str]:
    return [scheme.at(load) for scheme in schemes]


def _is(run: str, percent: float, over: str) -> Part:
    """Claim that the throughput changes in proportion."""
    return Approximately(value=change_percent(MBPS, run, over), number=percent, limit=SAME)


def _timeouts(run: str) -> list[Part]:
    """Claim that a curve is flat before 1 s and rises after it, more than that of the uncongested network."""
    flat, step = rises(600, 950), rises(1_000, 1_350)
    return [
        within(flat, run, high=SAME),
        Greater(one=quantity(step, run), than=quantity(flat, run)),
        InRange(value=difference(quantity(step, run), quantity(step, UNCONGESTED.at(98))), low=BETTER),
    ]


DROP_CLAIMS: Sequence[ReviewedClaim] = (
    reviewed_claim(
        "le2003-01",
        "a linear function of the number of emulated users",
        (_is(UNCONGESTED.at(load), 100 * (load / 80 - 1), UNCONGESTED.at(80)) for load in (90, 98, 105)),
    ),
    reviewed_claim(
        "le2003-02",
        "the 95% confidence intervals for the estimates fell in the range",
        HurstWithin(run=UNCONGESTED.recorded_at(98), low=0.8, high=0.9),
    ),
    reviewed_claim(
        "le2003-03",
        "indistinguishable from the results on the uncongested link",
        same(UNCONGESTED.at(80), *_names(DROPTAILS, 80)),
    ),
    reviewed_claim(
        "le2003-04",
        "some significant degradation in response times for all queue sizes",
        much_better(UNCONGESTED.at(90), *_names(DROPTAILS, 90)),
    ),
    reviewed_claim(
        "le2003-05",
        "small enough to complete in under 500 milliseconds",
        (part for limit in TARGETS for part in better(droptail(limit).at(90), droptail(2400).at(90), to_ms=500)),
    ),
    reviewed_claim(
        "le2003-06",
        "performance is somewhat better for the longer responses",
        better(droptail(2400).at(90), *(droptail(limit).at(90) for limit in TARGETS), from_ms=500),
    ),
    reviewed_claim(
        "le2003-07",
        "a shorter queue of 240 elements is more desirable",
        better(BASE.at(98), droptail(2400).at(98)),
    ),
    # Too lax: the uncongested network is flat there as well. What timeouts do is a step after it.
    reviewed_claim(
        "le2003-08",
        "most responses with a timeout take at least 1 second",
        (part for limit in TARGETS for part in _timeouts(droptail(limit).at(98))),
    ),
    reviewed_claim(
        "le2003-09",
        "essentially no difference; very close to that obtained on the",
        (
            part
            for law in (pi, rem)
            for part in (
                *same(law(24).at(80), law(240).at(80)),
                *close(UNCONGESTED.at(80), *(law(target).at(80) for target in TARGETS)),
            )
        ),
    ),
    reviewed_claim(
        "le2003-10",
        "nearly identical results except for the 10% of responses",
        close(PI_24.at(90), PI_240.at(90), to_ms=500),
        better(PI_240.at(90), PI_24.at(90), from_ms=500),
    ),
    reviewed_claim(
        "le2003-11",
        "improves response times for shorter responses but does not degrade",
        better(PI_24.at(98), PI_240.at(98), to_ms=400),
        no_worse(PI_24.at(98), PI_240.at(98), from_ms=400),
    ),
    reviewed_claim(
        "le2003-12",
        "performs much better than a target queue of 240",
        much_better(REM_24.at(90), REM_240.at(90)),
    ),
    reviewed_claim("le2003-13", "continues to perform slightly better than 240", better(REM_24.at(98), REM_240.at(98))),
    reviewed_claim(
        "le2003-14",
        "some degradation relative; essentially no difference in response times",
        same(ared(12).at(80), ared(120).at(80)),
        better(UNCONGESTED.at(80), *(ared(min_th).at(80) for min_th in ARED_MIN)),
    ),
    reviewed_claim(
        "le2003-15",
        "little difference in performance; is more substantial",
        close(ared(12).at(90), ared(120).at(90)),
        much_better(UNCONGESTED.at(90), *(ared(min_th).at(90) for min_th in ARED_MIN)),
    ),
    reviewed_claim(
        "le2003-16",
        "again almost indistinguishable; response times, overall, are very poor",
        close(ared(12).at(98), ared(120).at(98)),
        much_better(UNCONGESTED.at(98), *(ared(min_th).at(98) for min_th in ARED_MIN)),
    ),
    # Wrong: the settings presented are two.
    reviewed_claim(
        "le2003-17",
        "none of the settings yielded results that were better",
        (
            part
            for load in (90, 98)
            for other in SWEEP
            for part in not_better(other.at(load), *(ared(min_th).at(load) for min_th in ARED_MIN))
        ),
    ),
    # Wrong: 1/1024 and 1/16384 are 16 times apart. Of the weights that were tried these are nearest to ten times.
    reviewed_claim(
        "le2003-18",
        "by an order of magnitude had no effect on performance",
        (
            part
            for load in (90, 98)
            for one, other in (("1/1024", "1/8192"), ("1/2048", "1/16384"))
            for part in same(ared(12, w_q=one).at(load), ared(12, w_q=other).at(load))
        ),
    ),
    # Too lax: all that is above 78 %.
    reviewed_claim(
        "le2003-19",
        "the 80% of responses that can be completed in 400 milliseconds",
        about_percent(400, 80, *_names((PI_240, REM_24, BASE), 90)),
    ),
    reviewed_claim(
        "le2003-20",
        "PI with a target queue length of 240 is better",
        better(PI_240.at(90), *_names(_OTHERS, 90), from_ms=400),
    ),
    reviewed_claim(
        "le2003-21",
        "PI is again somewhat superior to the other schemes",
        better(PI_24.at(98), *_names(_OTHERS, 98)),
    ),
    reviewed_claim(
        "le2003-22",
        "performance for all schemes degrades uniformly from the 98% case",
        (part for scheme in (*DROPTAILS, *DROPPING) for part in better(scheme.at(98), scheme.at(105))),
    ),
    reviewed_claim(
        "le2003-23",
        "slightly better link utilization; completes slightly more request-response exchanges",
        (
            part
            for column in (MBPS, COMPLETED)
            for load in (90, 98)
            for part in more(column, BASE.at(load), _names(DROPPING, load))
        ),
    ),
    reviewed_claim(
        "le2003-24",
        "higher loss ratios than the other schemes",
        (part for load in (90, 98) for part in more(LOSS, BASE.at(load), _names(DROPPING, load))),
    ),
    reviewed_claim(
        "le2003-25",
        "better loss ratios than REM, completes more requests; at all loads",
        (
            part
            for load in LOADS
            for target in TARGETS
            for part in (
                *fewer(LOSS, pi(target).at(load), [rem(target).at(load)]),
                *more(COMPLETED, pi(target).at(load), [rem(target).at(load)]),
                *more(MBPS, pi(target).at(load), [rem(target).at(load)]),
            )
        ),
    ),
    reviewed_claim(
        "le2003-26",
        "at least 90% of all responses complete in under 2 seconds",
        within(answered(2_000), PI_240.at(90), low=90),
        within(answered(2_000), PI_24.at(98), low=90),
    ),
    reviewed_claim(
        "le2003-27",
        "up to approximately 50 seconds (~99.95% of all responses)",
        (part for time_ms in (5_000, 20_000) for part in more(answered(time_ms), PI_24.at(98), [BASE.at(98)])),
        more(answered(60_000), BASE.at(98), [PI_24.at(98)]),
        more(answered(60_000), ARED.at(98), _names((PI_24, REM_24), 98)),
        about_beyond(50, 0.05, PI_24.at(98)),
    ),
)
