"""Claims of Le et al. (2004) on uniform round-trip times, sections 4 and 5."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

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
from aqmlab.studies.kit.claims.predicates import SAME, approximately
from aqmlab.studies.kit.claims.quantities import difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.le.comparisons import compare
from aqmlab.studies.le.quantities import COMPLETED, CROSSING_MS, LOSS, MBPS, completed_within
from aqmlab.studies.le.schemes import (
    ARED_MIN,
    BASE,
    CONTROLLED,
    PI_24,
    PI_240,
    PI_ECN,
    REM_24,
    REM_240,
    REM_ECN,
    TARGETS,
    UNCONGESTED,
    ared,
    pi,
)
from aqmlab.studies.le2004.schemes import (
    BYTE,
    BYTE_ECN,
    BYTE_NEW,
    LOADS,
    PACKET,
    PACKET_ECN,
    PACKET_NEW,
    areds,
)

_BEST = (PI_24, REM_24, BYTE)

CLAIMS: Sequence[ReviewedClaim] = (
    reviewed_claim(
        "le2004-01",
        "lower response times for all but the largest 10%",
        compare(90, better, PI_24, PI_240, to_ms=500),
        compare(90, better, PI_240, PI_24, from_ms=500),
    ),
    reviewed_claim(
        "le2004-02",
        "lower response times for only the shortest 70%",
        compare(98, better, PI_24, PI_240, to_ms=400),
        compare(98, better, PI_240, PI_24, from_ms=400),
    ),
    reviewed_claim(
        "le2004-03",
        "equivalent performance for the very largest exchanges",
        (
            approximately(
                difference(*(quantity(completed_within(ms), scheme.at(load)) for scheme in (PI_24, PI_240))),
                number=0,
                limit=SAME,
            )
            for load in LOADS
            for ms in (2_000, 5_000)
        ),
    ),
    reviewed_claim(
        "le2004-04",
        "performs significantly better than a target queue of 240; slightly better",
        compare(90, much_better, REM_24, REM_240),
        compare(98, better, REM_24, REM_240),
    ),
    reviewed_claim(
        "le2004-05",
        "operating in byte-mode provides significantly better response times",
        (
            compare(load, much_better, *pair)
            for load in LOADS
            for pair in zip(areds("byte"), areds("packet"), strict=True)
        ),
    ),
    reviewed_claim(
        "le2004-06",
        "a (slightly) higher loss rate than in packet-mode",
        (
            compare(98, more, *pair, column=column)
            for pair in zip(areds("byte"), areds("packet"), strict=True)
            for column in (LOSS, COMPLETED, MBPS)
        ),
    ),
    reviewed_claim(
        "le2004-07",
        "best performance is obtained with queue thresholds",
        compare(LOADS, better, *areds("byte")),
    ),
    reviewed_claim(
        "le2004-08",
        "ARED operating in byte-mode is the best performing algorithm",
        compare(90, better, BYTE, (PI_24, REM_24, BASE)),
    ),
    reviewed_claim(
        "le2004-09",
        "PI outperforms REM and drop-tail while REM either underperforms or",
        (compare(90, same, *pair, to_ms=125) for pair in ((PI_24, REM_24), (PI_24, BASE), (REM_24, BASE))),
        compare(90, better, PI_24, (REM_24, BASE), from_ms=125),
        compare(90, not_better, REM_24, BASE, from_ms=125),
    ),
    reviewed_claim(
        "le2004-10",
        "nearly identical performance; all three schemes outperform drop-tail",
        (compare(98, close, *pair, to_ms=300) for pair in combinations(_BEST, 2)),
        compare(98, better, _BEST, BASE, to_ms=300),
    ),
    reviewed_claim(
        "le2004-11",
        "similar or slightly better; similar or slightly worse",
        compare(98, no_worse, (PI_24, BYTE), BASE, from_ms=300),
        compare(98, no_worse, BASE, REM_24, from_ms=300),
    ),
    reviewed_claim(
        "le2004-12",
        "slightly better link utilization than any; higher loss ratios",
        (compare(load, more, BASE, _BEST, column=column) for load in LOADS for column in (MBPS, COMPLETED, LOSS)),
    ),
    reviewed_claim(
        "le2004-13",
        "slightly better loss ratios than PI and REM at all loads",
        (
            (
                compare(load, fewer, BYTE, (PI_24, REM_24), column=LOSS),
                (compare(load, fewer, REM_24, (PI_24, BYTE), column=column) for column in (COMPLETED, MBPS)),
            )
            for load in LOADS
        ),
    ),
    reviewed_claim(
        "le2004-14",
        "at least 90% of all request/response exchanges complete in under 2",
        (within(completed_within(2_000), scheme.at(98), low=90) for scheme in (PI_24, BYTE)),
    ),
    reviewed_claim(
        "le2004-15",
        "The remaining exchanges perform best under drop-tail",
        compare(98, more, BASE, _BEST, column=completed_within(60_000)),
        compare(98, more, BYTE, (PI_24, REM_24), column=completed_within(60_000)),
    ),
    reviewed_claim(
        "le2004-16",
        "little change in performance; significantly improves performance for PI",
        compare(90, better, PI_ECN, PI_24),
        compare(90, close, pi(240, ecn=True), PI_240),
        (compare(98, much_better, pi(target, ecn=True), pi(target)) for target in TARGETS),
    ),
    reviewed_claim(
        "le2004-17",
        "REM outperforms drop-tail and gives performance similar to",
        (
            (
                compare(load, much_better, REM_ECN, REM_24),
                compare(load, better, (BASE, PI_24), REM_24),
                compare(load, better, REM_ECN, BASE),
                compare(load, close, REM_ECN, PI_ECN),
            )
            for load in LOADS
        ),
    ),
    reviewed_claim(
        "le2004-18",
        "ECN has very little effect on response times",
        (
            compare(load, close, *pair)
            for load in LOADS
            for mode in ("packet", "byte")
            for pair in zip(areds(mode, "ecn"), areds(mode), strict=True)
        ),
    ),
    reviewed_claim(
        "le2004-19",
        "packet-mode performance with ECN is worse than drop-tail at all loads",
        (
            compare(load, better, BASE, ared(min_th, signal=signal))
            for load in LOADS
            for min_th in ARED_MIN
            for signal in ("drop", "ecn")
        ),
    ),
    reviewed_claim(
        "le2004-20",
        "only ARED with ECN and queue thresholds of (12, 36) outperforms",
        (
            (
                compare(load, better, BYTE_ECN, BASE),
                compare(load, not_better, ared(120, mode="byte", signal="ecn"), BASE),
                compare(load, better, BYTE, BYTE_ECN),
            )
            for load in LOADS
        ),
    ),
    reviewed_claim(
        "le2004-21",
        "substantially improved, outperforming drop-tail for the vast majority",
        (
            (compare(load, much_better, PACKET_NEW, PACKET_ECN), compare(load, better, PACKET_NEW, BASE))
            for load in LOADS
        ),
    ),
    reviewed_claim(
        "le2004-22",
        "does not improve performance over original ARED in byte-mode without ECN",
        compare(90, better, BYTE_NEW, BYTE_ECN),
        compare(98, not_better, BYTE_NEW, BYTE_ECN),
        compare(LOADS, not_better, BYTE_NEW, BYTE),
    ),
    reviewed_claim(
        "le2004-23",
        "best ARED response time performance is achieved in byte-mode without ECN",
        compare(LOADS, not_better, (BYTE_ECN, BYTE_NEW, PACKET, PACKET_ECN, PACKET_NEW), BYTE),
    ),
    reviewed_claim(
        "le2004-24",
        "close to that on an uncongested link for the shortest 85%",
        (
            (compare(90, close, scheme, UNCONGESTED, to_ms=400), compare(90, better, scheme, BASE))
            for scheme in (*CONTROLLED, BYTE)
        ),
    ),
    reviewed_claim(
        "le2004-25",
        "PI and REM perform somewhat better than ARED",
        compare(90, better, CONTROLLED, BYTE, from_ms=400),
    ),
    reviewed_claim(
        "le2004-26",
        "far superior to those obtained with drop-tail and ARED",
        compare(98, much_better, CONTROLLED, (BASE, BYTE)),
        compare(98, better, BYTE, BASE),
    ),
    reviewed_claim(
        "le2004-27",
        "the crossover point occurs earlier than in the non-ECN case",
        (
            (compare(98, more, scheme, BASE, column=before), compare(98, more, BASE, scheme, column=after))
            for scheme in CONTROLLED
            for before, after in [map(completed_within, CROSSING_MS)]
        ),
    ),
)
