"""Claims of Le et al. (2004) on uniform round-trip times, sections 4 and 5."""

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
from aqmlab.studies.kit.claims.predicates import SAME, Approximately
from aqmlab.studies.kit.claims.quantities import difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.le.quantities import COMPLETED, CROSSING_MS, LOSS, MBPS, answered
from aqmlab.studies.le.schemes import UNCONGESTED, ared, pi, rem
from aqmlab.studies.le2004.schemes import (
    ARED_MIN,
    BASE,
    BYTE,
    BYTE_ECN,
    BYTE_NEW,
    LOADS,
    PACKET,
    PACKET_ECN,
    PACKET_NEW,
    PI,
    PI_ECN,
    REM,
    REM_ECN,
    TARGETS,
)

_CONTROLLED = (PI_ECN, REM_ECN)

CLAIMS: Sequence[ReviewedClaim] = (
    reviewed_claim(
        "le2004-01",
        "lower response times for all but the largest 10%",
        better(PI.at(90), pi(240).at(90), to_ms=500),
        better(pi(240).at(90), PI.at(90), from_ms=500),
    ),
    reviewed_claim(
        "le2004-02",
        "lower response times for only the shortest 70%",
        better(PI.at(98), pi(240).at(98), to_ms=400),
        better(pi(240).at(98), PI.at(98), from_ms=400),
    ),
    reviewed_claim(
        "le2004-03",
        "equivalent performance for the very largest exchanges",
        (
            Approximately(
                value=difference(quantity(answered(ms), PI.at(load)), quantity(answered(ms), pi(240).at(load))),
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
        much_better(REM.at(90), rem(240).at(90)),
        better(REM.at(98), rem(240).at(98)),
    ),
    reviewed_claim(
        "le2004-05",
        "operating in byte-mode provides significantly better response times",
        (
            part
            for load in LOADS
            for min_th in ARED_MIN
            for part in much_better(ared(min_th, mode="byte").at(load), ared(min_th).at(load))
        ),
    ),
    reviewed_claim(
        "le2004-06",
        "a (slightly) higher loss rate than in packet-mode",
        (
            part
            for min_th in ARED_MIN
            for byte, packet in [(ared(min_th, mode="byte").at(98), ared(min_th).at(98))]
            for column in (LOSS, COMPLETED, MBPS)
            for part in more(column, byte, [packet])
        ),
    ),
    reviewed_claim(
        "le2004-07",
        "best performance is obtained with queue thresholds",
        (part for load in LOADS for part in better(BYTE.at(load), ared(120, mode="byte").at(load))),
    ),
    reviewed_claim(
        "le2004-08",
        "ARED operating in byte-mode is the best performing algorithm",
        better(BYTE.at(90), *(other.at(90) for other in (PI, REM, BASE))),
    ),
    reviewed_claim(
        "le2004-09",
        "PI outperforms REM and drop-tail while REM either underperforms or",
        (
            part
            for one, other in ((PI, REM), (PI, BASE), (REM, BASE))
            for part in same(one.at(90), other.at(90), to_ms=125)
        ),
        better(PI.at(90), REM.at(90), BASE.at(90), from_ms=125),
        not_better(REM.at(90), BASE.at(90), from_ms=125),
    ),
    reviewed_claim(
        "le2004-10",
        "nearly identical performance; all three schemes outperform drop-tail",
        (
            part
            for one, other in ((PI, REM), (PI, BYTE), (REM, BYTE))
            for part in close(one.at(98), other.at(98), to_ms=300)
        ),
        (part for scheme in (PI, REM, BYTE) for part in better(scheme.at(98), BASE.at(98), to_ms=300)),
    ),
    reviewed_claim(
        "le2004-11",
        "similar or slightly better; similar or slightly worse",
        (part for scheme in (PI, BYTE) for part in no_worse(scheme.at(98), BASE.at(98), from_ms=300)),
        no_worse(BASE.at(98), REM.at(98), from_ms=300),
    ),
    reviewed_claim(
        "le2004-12",
        "slightly better link utilization than any; higher loss ratios",
        (
            part
            for load in LOADS
            for column in (MBPS, COMPLETED, LOSS)
            for part in more(column, BASE.at(load), [scheme.at(load) for scheme in (PI, REM, BYTE)])
        ),
    ),
    reviewed_claim(
        "le2004-13",
        "slightly better loss ratios than PI and REM at all loads",
        (
            part
            for load in LOADS
            for part in (
                *fewer(LOSS, BYTE.at(load), [PI.at(load), REM.at(load)]),
                *fewer(COMPLETED, REM.at(load), [PI.at(load), BYTE.at(load)]),
                *fewer(MBPS, REM.at(load), [PI.at(load), BYTE.at(load)]),
            )
        ),
    ),
    reviewed_claim(
        "le2004-14",
        "at least 90% of all request/response exchanges complete in under 2",
        (within(answered(2_000), scheme.at(98), low=90) for scheme in (PI, BYTE)),
    ),
    reviewed_claim(
        "le2004-15",
        "The remaining exchanges perform best under drop-tail",
        more(answered(60_000), BASE.at(98), [scheme.at(98) for scheme in (PI, REM, BYTE)]),
        more(answered(60_000), BYTE.at(98), [scheme.at(98) for scheme in (PI, REM)]),
    ),
    reviewed_claim(
        "le2004-16",
        "little change in performance; significantly improves performance for PI",
        better(PI_ECN.at(90), PI.at(90)),
        close(pi(240, ecn=True).at(90), pi(240).at(90)),
        (part for target in TARGETS for part in much_better(pi(target, ecn=True).at(98), pi(target).at(98))),
    ),
    reviewed_claim(
        "le2004-17",
        "REM outperforms drop-tail and gives performance similar to",
        (
            part
            for load in LOADS
            for part in (
                *much_better(REM_ECN.at(load), REM.at(load)),
                *better(BASE.at(load), REM.at(load)),
                *better(PI.at(load), REM.at(load)),
                *better(REM_ECN.at(load), BASE.at(load)),
                *close(REM_ECN.at(load), PI_ECN.at(load)),
            )
        ),
    ),
    reviewed_claim(
        "le2004-18",
        "ECN has very little effect on response times",
        (
            part
            for load in LOADS
            for mode in ("packet", "byte")
            for min_th in ARED_MIN
            for part in close(ared(min_th, mode=mode, signal="ecn").at(load), ared(min_th, mode=mode).at(load))
        ),
    ),
    reviewed_claim(
        "le2004-19",
        "packet-mode performance with ECN is worse than drop-tail at all loads",
        (
            part
            for load in LOADS
            for min_th in ARED_MIN
            for signal in ("drop", "ecn")
            for part in better(BASE.at(load), ared(min_th, signal=signal).at(load))
        ),
    ),
    reviewed_claim(
        "le2004-20",
        "only ARED with ECN and queue thresholds of (12, 36) outperforms",
        (
            part
            for load in LOADS
            for part in (
                *better(BYTE_ECN.at(load), BASE.at(load)),
                *not_better(ared(120, mode="byte", signal="ecn").at(load), BASE.at(load)),
                *better(BYTE.at(load), BYTE_ECN.at(load)),
            )
        ),
    ),
    reviewed_claim(
        "le2004-21",
        "substantially improved, outperforming drop-tail for the vast majority",
        (
            part
            for load in LOADS
            for part in (
                *much_better(PACKET_NEW.at(load), PACKET_ECN.at(load)),
                *better(PACKET_NEW.at(load), BASE.at(load)),
            )
        ),
    ),
    reviewed_claim(
        "le2004-22",
        "does not improve performance over original ARED in byte-mode without ECN",
        better(BYTE_NEW.at(90), BYTE_ECN.at(90)),
        not_better(BYTE_NEW.at(98), BYTE_ECN.at(98)),
        (part for load in LOADS for part in not_better(BYTE_NEW.at(load), BYTE.at(load))),
    ),
    reviewed_claim(
        "le2004-23",
        "best ARED response time performance is achieved in byte-mode without ECN",
        (
            part
            for load in LOADS
            for other in (BYTE_ECN, BYTE_NEW, PACKET, PACKET_ECN, PACKET_NEW)
            for part in not_better(other.at(load), BYTE.at(load))
        ),
    ),
    reviewed_claim(
        "le2004-24",
        "close to that on an uncongested link for the shortest 85%",
        (
            part
            for scheme in (*_CONTROLLED, BYTE)
            for part in (
                *close(scheme.at(90), UNCONGESTED.at(90), to_ms=400),
                *better(scheme.at(90), BASE.at(90)),
            )
        ),
    ),
    reviewed_claim(
        "le2004-25",
        "PI and REM perform somewhat better than ARED",
        (part for scheme in _CONTROLLED for part in better(scheme.at(90), BYTE.at(90), from_ms=400)),
    ),
    reviewed_claim(
        "le2004-26",
        "far superior to those obtained with drop-tail and ARED",
        (part for scheme in _CONTROLLED for part in much_better(scheme.at(98), BASE.at(98), BYTE.at(98))),
        better(BYTE.at(98), BASE.at(98)),
    ),
    reviewed_claim(
        "le2004-27",
        "the crossover point occurs earlier than in the non-ECN case",
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
)
