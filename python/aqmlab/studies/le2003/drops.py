"""What Le et al. (2003) say of their experiments with dropped packets: sections 3 and 4."""

from __future__ import annotations

from aqmlab.studies.kit.claims import Between, Raises
from aqmlab.studies.kit.measures import throughput_mbps
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
    much_better,
    no_worse,
    not_better,
    rise,
)
from aqmlab.studies.le.hurst import HurstWithin
from aqmlab.studies.le.schemes import UNCONGESTED, ared, droptail, pi, rem
from aqmlab.studies.le2003.schemes import ARED, ARED_MIN, BASE, DROPPING, PI_24, PI_240, REM_24, REM_240, SWEEP, TARGETS

WITH_DROPS: tuple[Said, ...] = (
    Said(
        "Section 3.2, figure 2",
        "on the uncongested network the throughput is proportional to the users",
        every(
            Raises(
                what="throughput, Mbit/s",
                measure=throughput_mbps,
                scheme=UNCONGESTED.at(load),
                over=UNCONGESTED.at(80),
                low_percent=100 * (load / 80 - 1) - 2,
                high_percent=100 * (load / 80 - 1) + 2,
            )
            for load in (90, 98, 105)
        ),
    ),
    Said(
        "Section 3.2",
        "the traffic is long-range dependent, with a Hurst parameter between 0.8 and 0.9 by every estimator",
        HurstWithin(run=UNCONGESTED.recorded_at(98), low=0.8, high=0.9),
    ),
    Said(
        "Section 4, figure 5",
        "at 80 % load drop-tail of any of the three lengths is like the uncongested network",
        every(alike(droptail(limit).at(80), UNCONGESTED.at(80)) for limit in (24, 240, 2400)),
    ),
    Said(
        "Section 4, figure 6",
        "at 90 % load drop-tail of any length is much worse than the uncongested network",
        every(much_better(UNCONGESTED.at(90), droptail(limit).at(90)) for limit in (24, 240, 2400)),
    ),
    Said(
        "Section 4, figure 6",
        "at 90 % load drop-tail of 24 or 240 packets is better than of 2,400 for what takes less than 500 ms",
        every(better(droptail(limit).at(90), droptail(2400).at(90), to_ms=500) for limit in TARGETS),
    ),
    Said(
        "Section 4, figure 6",
        "at 90 % load drop-tail of 2,400 packets is better than of 24 or 240 for what takes longer",
        every(better(droptail(2400).at(90), droptail(limit).at(90), from_ms=500) for limit in TARGETS),
    ),
    Said(
        "Section 4, figure 7",
        "at 98 % load drop-tail of 240 packets is better than of 2,400",
        better(BASE.at(98), droptail(2400).at(98)),
    ),
    Said(
        "Section 4, figure 7",
        "at 98 % load short drop-tail queues have a flat stretch in their curve before 1 s, where timeouts end:"
        " less than 2 % of the requests are answered between 600 and 950 ms",
        every(
            Between(
                what="requests answered between 600 and 950 ms, %",
                measure=rise(600, 950),
                scheme=droptail(limit).at(98),
                high=2.0,
            )
            for limit in TARGETS
        ),
    ),
    Said(
        "Sections 4.1 and 4.2, figures 8 and 9",
        "at 80 % load PI and REM are the same with either target, and like the uncongested network",
        every(
            part
            for made in (pi, rem)
            for part in (
                alike(made(24).at(80), made(240).at(80)),
                *(alike(made(target).at(80), UNCONGESTED.at(80)) for target in TARGETS),
            )
        ),
    ),
    Said(
        "Section 4.1, figure 8",
        "at 90 % load PI is the same with either target up to 500 ms, and better with 240 beyond",
        every(
            alike(PI_24.at(90), PI_240.at(90), to_ms=500),
            better(PI_240.at(90), PI_24.at(90), from_ms=500),
        ),
    ),
    Said(
        "Section 4.1, figure 8",
        "at 98 % load PI is better with a target of 24 than of 240 for short responses, and no worse for long ones",
        every(
            better(PI_24.at(98), PI_240.at(98), to_ms=400),
            no_worse(PI_24.at(98), PI_240.at(98), from_ms=400),
        ),
    ),
    Said(
        "Section 4.2, figure 9",
        "at 90 % load REM is much better with a target of 24 than of 240",
        much_better(REM_24.at(90), REM_240.at(90)),
    ),
    Said(
        "Section 4.2, figure 9",
        "at 98 % load REM is better with a target of 24 than of 240",
        better(REM_24.at(98), REM_240.at(98)),
    ),
    Said(
        "Section 4.3, figure 10",
        "at 80 % load ARED is visibly worse than the uncongested network, with either pair of thresholds alike",
        every(
            alike(ared(12).at(80), ared(120).at(80)),
            *(better(UNCONGESTED.at(80), ared(min_th).at(80)) for min_th in ARED_MIN),
        ),
    ),
    Said(
        "Section 4.3, figure 10",
        "at 90 % load ARED is much worse than the uncongested network, with either pair of thresholds alike",
        every(
            alike(ared(12).at(90), ared(120).at(90)),
            *(much_better(UNCONGESTED.at(90), ared(min_th).at(90)) for min_th in ARED_MIN),
        ),
    ),
    Said(
        "Section 4.3, figure 10",
        "at 98 % load ARED does not depend on its thresholds",
        alike(ared(12).at(98), ared(120).at(98)),
    ),
    Said(
        "Section 4.3",
        "no other weight of ARED's average, nor the recommended thresholds, give better response times",
        every(not_better(other.at(load), ARED.at(load)) for load in (90, 98) for other in SWEEP),
    ),
    Said(
        "Section 6",
        "ten times the weight of ARED's average makes no difference",
        every(alike(ared(12, w_q="1/1024").at(load), ared(12, w_q="1/16384").at(load)) for load in (90, 98)),
    ),
    Said(
        "Section 4.4, figure 11",
        "at 90 % load PI, REM and drop-tail answer four fifths of the requests within 400 ms",
        every(answered(400, scheme.at(90), low=78) for scheme in (PI_240, REM_24, BASE)),
    ),
    Said(
        "Section 4.4, figure 11",
        "at 90 % load PI with a target of 240 is the best for what takes more than 400 ms",
        every(better(PI_240.at(90), other.at(90), from_ms=400) for other in (BASE, REM_24, ARED)),
    ),
    Said(
        "Section 4.4, figure 12",
        "at 98 % load PI with a target of 24 is the best",
        every(better(PI_24.at(98), other.at(98)) for other in (BASE, REM_24, ARED)),
    ),
    Said(
        "Section 4.4, figure 13",
        "at 105 % load every scheme is worse than at 98 %",
        every(better(scheme.at(98), scheme.at(105)) for scheme in (BASE, PI_24, REM_24, ARED)),
    ),
    Said(
        "Section 4.4, table 2",
        "at 90 and 98 % load drop-tail of 240 packets carries and completes more than every scheme that drops",
        every(
            more(BASE.at(load), scheme.at(load))
            for more in (carries_more, completes_more)
            for load in (90, 98)
            for scheme in DROPPING
        ),
    ),
    Said(
        "Section 4.4, table 2",
        "at 90 and 98 % load drop-tail of 240 packets loses more than every scheme that drops",
        every(loses_less(scheme.at(load), BASE.at(load)) for load in (90, 98) for scheme in DROPPING),
    ),
    Said(
        "Section 4.4, table 2",
        "from 90 % load on PI loses less, completes more and carries more than REM with the same target",
        every(
            less(pi(target).at(load), rem(target).at(load))
            for less in (loses_less, completes_more, carries_more)
            for load in (90, 98, 105)
            for target in TARGETS
        ),
    ),
    Said(
        "Section 4.4, figure 14",
        "at 98 % load nine tenths of the requests are answered within 2 s under PI",
        answered(2000, PI_24.at(98), low=90),
    ),
    Said(
        "Section 4.4, figure 14",
        "at 98 % load PI is ahead of drop-tail up to some tens of seconds, and behind for the few requests beyond",
        every(
            *(answers_more(time_ms, PI_24.at(98), BASE.at(98)) for time_ms in (5_000, 20_000)),
            answers_more(60_000, BASE.at(98), PI_24.at(98)),
        ),
    ),
)
