"""What Le et al. (2003) say of their experiments with ECN, and of all: sections 5 to 7."""

from __future__ import annotations

from aqmlab.studies.kit.claims import Between, Greater, Raises
from aqmlab.studies.kit.measures import completed_requests, loss_percent, throughput_mbps
from aqmlab.studies.le.claims import (
    Said,
    alike,
    answered,
    answers_more,
    better,
    carries_more,
    completes_more,
    every,
    loses_less,
    modestly_less,
    much_better,
    near,
    not_better,
    rise,
    similar_loss,
    similar_work,
    substantially_less,
)
from aqmlab.studies.le.schemes import UNCONGESTED, ared, pi, rem
from aqmlab.studies.le2003.schemes import (
    ARED,
    ARED_ECN,
    ARED_MIN,
    BASE,
    DROPPING,
    MARKING,
    PAIRS,
    PI_24,
    PI_240,
    PI_ECN,
    REM_24,
    REM_ECN,
    TARGETS,
)

_SLOW = "responses below 8 kB that take 1 to 64 s, %"
_slow = rise(1_000, 64_000, below_bytes=8192)

WITH_ECN: tuple[Said, ...] = (
    Said(
        "Section 5",
        "at 80 % load ECN makes no difference to any scheme",
        every(alike(dropping.at(80), marking.at(80)) for dropping, marking in PAIRS),
    ),
    Said(
        "Section 5, figure 15",
        "at 90 % load ECN makes PI better with a target of 24, and no difference with 240",
        every(
            better(PI_ECN.at(90), PI_24.at(90)),
            alike(pi(240, ecn=True).at(90), PI_240.at(90)),
        ),
    ),
    Said(
        "Section 5, figure 16",
        "at 98 % load ECN makes PI much better with either target",
        every(much_better(pi(target, ecn=True).at(98), pi(target).at(98)) for target in TARGETS),
    ),
    Said(
        "Section 5, figures 17 and 18",
        "at 90 and 98 % load ECN makes REM much better with either target",
        every(
            much_better(rem(target, ecn=True).at(load), rem(target).at(load)) for load in (90, 98) for target in TARGETS
        ),
    ),
    Said(
        "Section 5, figures 19 and 20",
        "ECN makes no difference to ARED, at any load, with either pair of thresholds",
        every(
            alike(dropping.at(load), marking.at(load)) for load in (80, 90, 98, 105) for dropping, marking in PAIRS[4:]
        ),
    ),
    Said(
        "Section 5",
        "at 90 and 98 % load PI and REM with ECN are alike, and so PI's lead over REM is gone",
        every(
            alike(pi(target, ecn=True).at(load), rem(target, ecn=True).at(load))
            for load in (90, 98)
            for target in TARGETS
        ),
    ),
    Said(
        "Section 5, table 2",
        "at 90 and 98 % load PI with ECN loses less, and completes and carries what it does without",
        every(
            part
            for load in (90, 98)
            for dropping, marking in PAIRS[:2]
            for part in (
                loses_less(marking.at(load), dropping.at(load)),
                similar_work(marking.at(load), dropping.at(load)),
            )
        ),
    ),
    Said(
        "Section 5, table 2",
        "at 90 and 98 % load REM with ECN loses less, and completes and carries more than without",
        every(
            more(marking.at(load), dropping.at(load))
            for more in (loses_less, completes_more, carries_more)
            for load in (90, 98)
            for dropping, marking in PAIRS[2:4]
        ),
    ),
    Said(
        "Section 5, table 2",
        "at 90 and 98 % load ARED with ECN loses, completes and carries what it does without",
        every(
            part
            for load in (90, 98)
            for dropping, marking in PAIRS[4:]
            for part in (
                similar_loss(marking.at(load), dropping.at(load)),
                similar_work(marking.at(load), dropping.at(load)),
            )
        ),
    ),
    Said(
        "Section 5.1, figure 21",
        "at 90 % load PI and REM with ECN are near the uncongested network and better than drop-tail",
        every(
            part
            for scheme in (PI_ECN, REM_ECN)
            for part in (near(scheme.at(90), UNCONGESTED.at(90)), better(scheme.at(90), BASE.at(90)))
        ),
    ),
    Said(
        "Section 6",
        "at 90 % load PI and REM with ECN answer some 90 % of requests within 500 ms, the uncongested network 95 %",
        every(
            *(answered(500, scheme.at(90), low=88, high=92) for scheme in (PI_ECN, REM_ECN)),
            answered(500, UNCONGESTED.at(90), low=93, high=97),
        ),
    ),
    Said(
        "Section 5.1, figure 22",
        "at 98 % load PI and REM with ECN are worse than the uncongested network, but much better than drop-tail",
        every(
            part
            for scheme in (PI_ECN, REM_ECN)
            for part in (better(UNCONGESTED.at(98), scheme.at(98)), much_better(scheme.at(98), BASE.at(98)))
        ),
    ),
    Said(
        "Section 5.1, table 2",
        "at 98 % load PI and REM with ECN lose at most half of what drop-tail loses, and carry somewhat less",
        every(
            part
            for scheme in (PI_ECN, REM_ECN)
            for part in (
                substantially_less("loss, %", loss_percent, scheme.at(98), BASE.at(98)),
                modestly_less("throughput, Mbit/s", throughput_mbps, scheme.at(98), BASE.at(98)),
            )
        ),
    ),
    Said(
        "Section 5.1, figure 23",
        "at 105 % load PI and REM with ECN are alike, and near what they are at 98 %",
        every(
            alike(PI_ECN.at(105), REM_ECN.at(105)),
            *(near(scheme.at(105), scheme.at(98)) for scheme in (PI_ECN, REM_ECN)),
        ),
    ),
    Said(
        "Section 5.1, table 2",
        "at 105 % load PI and REM with ECN complete hardly more than at 98 %",
        every(
            Raises(
                what="completed requests",
                measure=completed_requests,
                scheme=scheme.at(105),
                over=scheme.at(98),
                low_percent=0,
                high_percent=2,
            )
            for scheme in (PI_ECN, REM_ECN)
        ),
    ),
    Said(
        "Section 5.1, figures 21 to 23",
        "from 90 % load on ARED with ECN is much worse than PI and REM with ECN, but for the shortest 40 %",
        every(
            part
            for load in (90, 98, 105)
            for scheme in (PI_ECN, REM_ECN)
            for part in (
                much_better(scheme.at(load), ARED_ECN.at(load)),
                alike(scheme.at(load), ARED_ECN.at(load), to_ms=125),
            )
        ),
    ),
    Said(
        "Section 5.1, figure 24",
        "at 98 % load PI and REM with ECN are ahead of drop-tail up to about 5 s, and behind for what takes longer",
        every(
            part
            for scheme in (PI_ECN, REM_ECN)
            for part in (
                answers_more(3_000, scheme.at(98), BASE.at(98)),
                answers_more(8_000, BASE.at(98), scheme.at(98)),
            )
        ),
    ),
    Said(
        "Section 6",
        "from 90 % load on ARED is worse than drop-tail",
        every(better(BASE.at(load), ared(min_th).at(load)) for load in (90, 98, 105) for min_th in ARED_MIN),
    ),
    Said(
        "Section 6, figure 25",
        "at 98 % load lost SYNs make a band at 6 s: more small responses take 6.0 to 6.5 s than 5.5 to 6.0 s under PI",
        Between(
            what="responses below 8 kB that take 6.0 to 6.5 s, less those that take 5.5 to 6.0 s, %",
            measure=lambda result: (
                rise(6_000, 6_500, below_bytes=8192)(result) - rise(5_500, 6_000, below_bytes=8192)(result)
            ),
            scheme=PI_24.at(98),
            low=0.0,
        ),
    ),
    Said(
        "Section 6, figure 25",
        "at 98 % load PI makes fewer small responses wait for seconds than REM and ARED do",
        every(Greater(what=_SLOW, measure=_slow, scheme=other.at(98), than=PI_24.at(98)) for other in (REM_24, ARED)),
    ),
    Said(
        "Section 6, figure 26",
        "at 98 % load ECN at least halves the small responses that wait for seconds under PI",
        substantially_less(_SLOW, _slow, PI_ECN.at(98), PI_24.at(98)),
    ),
    # Conclusions
    Said(
        "Section 7",
        "at 80 % load no scheme, with or without ECN, is better than drop-tail",
        every(not_better(scheme.at(80), BASE.at(80)) for scheme in (*DROPPING, *MARKING)),
    ),
)
