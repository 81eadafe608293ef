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
from aqmlab.studies.kit.claims.predicates import BETTER, SAME, Greater, InRange, Part, approximately
from aqmlab.studies.kit.claims.quantities import change_percent, difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.le.comparisons import compare, run_names
from aqmlab.studies.le.hurst import HurstWithin
from aqmlab.studies.le.quantities import COMPLETED, LOSS, MBPS, about_beyond, about_percent, completed_within, rises
from aqmlab.studies.le.schemes import (
    BASE,
    PI_24,
    PI_240,
    REM_24,
    REM_240,
    TARGETS,
    UNCONGESTED,
    ared,
    droptail,
    pi,
    rem,
)
from aqmlab.studies.le2003.schemes import ARED, ARED_120, DROPPING, DROPTAILS, LOADS, SWEEP

_OTHERS = (BASE, REM_24, ARED)
_AREDS = (ARED, ARED_120)
_SHORT = tuple(map(droptail, TARGETS))
_LONG = droptail(2400)


def _proportional(load: int) -> Part:
    """Claim that the throughput of the uncongested network is proportional to the load."""
    change = change_percent(MBPS, UNCONGESTED.at(load), UNCONGESTED.at(80))
    return approximately(change, 100 * (load / 80 - 1), limit=SAME)


def _timeouts(run: str) -> list[Part]:
    """Claim that a curve is flat before 1 s and rises after it, more than that of the uncongested network."""
    flat, step = rises(600, 950), rises(1_000, 1_350)
    return [
        within(flat, run, high=SAME),
        Greater(one=quantity(step, run), than=quantity(flat, run)),
        InRange(value=difference(quantity(step, run), quantity(step, UNCONGESTED.at(98))), low=BETTER),
    ]


DROP_CLAIMS: Sequence[ReviewedClaim] = (
    reviewed_claim("le2003-01", "a linear function of the number of emulated users", map(_proportional, (90, 98, 105))),
    reviewed_claim(
        "le2003-02",
        "the 95% confidence intervals for the estimates fell in the range",
        HurstWithin(run=UNCONGESTED.recorded_at(98), low=0.8, high=0.9),
    ),
    reviewed_claim(
        "le2003-03",
        "indistinguishable from the results on the uncongested link",
        compare(80, same, UNCONGESTED, DROPTAILS),
    ),
    reviewed_claim(
        "le2003-04",
        "some significant degradation in response times for all queue sizes",
        compare(90, much_better, UNCONGESTED, DROPTAILS),
    ),
    reviewed_claim(
        "le2003-05",
        "small enough to complete in under 500 milliseconds",
        compare(90, better, _SHORT, _LONG, to_ms=500),
    ),
    reviewed_claim(
        "le2003-06",
        "performance is somewhat better for the longer responses",
        compare(90, better, _LONG, _SHORT, from_ms=500),
    ),
    reviewed_claim("le2003-07", "a shorter queue of 240 elements is more desirable", compare(98, better, BASE, _LONG)),
    # Too lax: the uncongested network is flat there as well. What timeouts do is a step after it.
    reviewed_claim(
        "le2003-08",
        "most responses with a timeout take at least 1 second",
        map(_timeouts, run_names(98, _SHORT)),
    ),
    reviewed_claim(
        "le2003-09",
        "essentially no difference; very close to that obtained on the",
        (
            (compare(80, same, law(24), law(240)), compare(80, close, UNCONGESTED, [law(24), law(240)]))
            for law in (pi, rem)
        ),
    ),
    reviewed_claim(
        "le2003-10",
        "nearly identical results except for the 10% of responses",
        compare(90, close, PI_24, PI_240, to_ms=500),
        compare(90, better, PI_240, PI_24, from_ms=500),
    ),
    reviewed_claim(
        "le2003-11",
        "improves response times for shorter responses but does not degrade",
        compare(98, better, PI_24, PI_240, to_ms=400),
        compare(98, no_worse, PI_24, PI_240, from_ms=400),
    ),
    reviewed_claim(
        "le2003-12", "performs much better than a target queue of 240", compare(90, much_better, REM_24, REM_240)
    ),
    reviewed_claim("le2003-13", "continues to perform slightly better than 240", compare(98, better, REM_24, REM_240)),
    reviewed_claim(
        "le2003-14",
        "some degradation relative; essentially no difference in response times",
        compare(80, same, ARED, ARED_120),
        compare(80, better, UNCONGESTED, _AREDS),
    ),
    reviewed_claim(
        "le2003-15",
        "little difference in performance; is more substantial",
        compare(90, close, ARED, ARED_120),
        compare(90, much_better, UNCONGESTED, _AREDS),
    ),
    reviewed_claim(
        "le2003-16",
        "again almost indistinguishable; response times, overall, are very poor",
        compare(98, close, ARED, ARED_120),
        compare(98, much_better, UNCONGESTED, _AREDS),
    ),
    # Wrong: the settings presented are two.
    reviewed_claim(
        "le2003-17",
        "none of the settings yielded results that were better",
        compare((90, 98), not_better, SWEEP, _AREDS),
    ),
    # Wrong: 1/1024 and 1/16384 are 16 times apart. Of the weights that were tried these are nearest to ten times.
    reviewed_claim(
        "le2003-18",
        "by an order of magnitude had no effect on performance",
        (
            compare(load, same, ared(12, w_q=one), ared(12, w_q=other))
            for load in (90, 98)
            for one, other in (("1/1024", "1/8192"), ("1/2048", "1/16384"))
        ),
    ),
    # Too lax: all that is above 78 %.
    reviewed_claim(
        "le2003-19",
        "the 80% of responses that can be completed in 400 milliseconds",
        about_percent(400, 80, *run_names(90, (PI_240, REM_24, BASE))),
    ),
    reviewed_claim(
        "le2003-20",
        "PI with a target queue length of 240 is better",
        compare(90, better, PI_240, _OTHERS, from_ms=400),
    ),
    reviewed_claim(
        "le2003-21", "PI is again somewhat superior to the other schemes", compare(98, better, PI_24, _OTHERS)
    ),
    reviewed_claim(
        "le2003-22",
        "performance for all schemes degrades uniformly from the 98% case",
        (better(scheme.at(98), scheme.at(105)) for scheme in (*DROPTAILS, *DROPPING)),
    ),
    reviewed_claim(
        "le2003-23",
        "slightly better link utilization; completes slightly more request-response exchanges",
        (compare((90, 98), more, BASE, DROPPING, column=column) for column in (MBPS, COMPLETED)),
    ),
    reviewed_claim(
        "le2003-24", "higher loss ratios than the other schemes", compare((90, 98), more, BASE, DROPPING, column=LOSS)
    ),
    reviewed_claim(
        "le2003-25",
        "better loss ratios than REM, completes more requests; at all loads",
        (
            compare(load, relation, one, other, column=column)
            for load in LOADS
            for one, other in ((PI_24, REM_24), (PI_240, REM_240))
            for relation, column in ((fewer, LOSS), (more, COMPLETED), (more, MBPS))
        ),
    ),
    reviewed_claim(
        "le2003-26",
        "at least 90% of all responses complete in under 2 seconds",
        within(completed_within(2_000), PI_240.at(90), low=90),
        within(completed_within(2_000), PI_24.at(98), low=90),
    ),
    reviewed_claim(
        "le2003-27",
        "up to approximately 50 seconds (~99.95% of all responses)",
        (compare(98, more, PI_24, BASE, column=completed_within(time_ms)) for time_ms in (5_000, 20_000)),
        compare(98, more, BASE, PI_24, column=completed_within(60_000)),
        compare(98, more, ARED, (PI_24, REM_24), column=completed_within(60_000)),
        about_beyond(50, 0.05, PI_24.at(98)),
    ),
)
