"""What the extended version of 2004 says of its experiments with dropped packets: section 4.

The paper of 2003 says some of it too, of the same experiments; a claim is decided for each.
"""

from __future__ import annotations

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
)
from aqmlab.studies.le.schemes import ared, pi, rem
from aqmlab.studies.le2004.schemes import ARED_MIN, BASE, BYTE, LOADS, PI, REM

WITH_DROPS: tuple[Said, ...] = (
    Said(
        "Section 4.1, figure 5",
        "at 90 % load PI is better with a target of 24 than of 240 up to 500 ms, and better with 240 beyond",
        every(
            better(PI.at(90), pi(240).at(90), to_ms=500),
            better(pi(240).at(90), PI.at(90), from_ms=500),
        ),
    ),
    Said(
        "Section 4.1, figure 5",
        "at 98 % load PI is better with a target of 24 than of 240 up to 400 ms, and better with 240 beyond",
        every(
            better(PI.at(98), pi(240).at(98), to_ms=400),
            better(pi(240).at(98), PI.at(98), from_ms=400),
        ),
    ),
    Said(
        "Section 4.1, figure 5",
        "PI is the same with either target for what takes longer than 2 s",
        every(alike(PI.at(load), pi(240).at(load), from_ms=2_000, to_ms=20_000) for load in LOADS),
    ),
    Said(
        "Section 4.2, figure 6",
        "REM is much better with a target of 24 than of 240 at 90 % load, and better at 98 %",
        every(much_better(REM.at(90), rem(240).at(90)), better(REM.at(98), rem(240).at(98))),
    ),
    Said(
        "Section 4.3, figures 7 and 8",
        "without ECN ARED is much better in byte mode than in packet mode, at both loads, with either thresholds",
        every(
            much_better(ared(min_th, mode="byte").at(load), ared(min_th).at(load))
            for load in LOADS
            for min_th in ARED_MIN
        ),
    ),
    Said(
        "Section 4.3, table 3",
        "at 98 % load ARED in byte mode loses more than in packet mode, but completes and carries more",
        every(
            part
            for min_th in ARED_MIN
            for byte, packet in [(ared(min_th, mode="byte").at(98), ared(min_th).at(98))]
            for part in (loses_less(packet, byte), completes_more(byte, packet), carries_more(byte, packet))
        ),
    ),
    Said(
        "Section 4.3, figure 8",
        "ARED in byte mode is better with thresholds of 12 and 36 than of 120 and 360",
        every(better(BYTE.at(load), ared(120, mode="byte").at(load)) for load in LOADS),
    ),
    Said(
        "Section 4.4, figure 9",
        "without ECN at 90 % load ARED in byte mode is the best",
        every(better(BYTE.at(90), other.at(90)) for other in (PI, REM, BASE)),
    ),
    Said(
        "Section 4.4, figure 9",
        "without ECN at 90 % load PI, REM and drop-tail are the same up to 125 ms; beyond, PI is better than both, and"
        " REM no better than drop-tail",
        every(
            *(alike(one.at(90), other.at(90), to_ms=125) for one, other in ((PI, REM), (PI, BASE), (REM, BASE))),
            *(better(PI.at(90), other.at(90), from_ms=125) for other in (REM, BASE)),
            no_worse(BASE.at(90), REM.at(90), from_ms=125),
        ),
    ),
    Said(
        "Section 4.4, figure 10",
        "without ECN at 98 % load PI, REM and ARED in byte mode are the same up to 300 ms, and better than drop-tail",
        every(
            *(alike(one.at(98), other.at(98), to_ms=300) for one, other in ((PI, REM), (PI, BYTE), (REM, BYTE))),
            *(better(scheme.at(98), BASE.at(98), to_ms=300) for scheme in (PI, REM, BYTE)),
        ),
    ),
    Said(
        "Section 4.4, figure 10",
        "without ECN at 98 % load PI and ARED in byte mode are no worse than drop-tail beyond 300 ms, REM no better",
        every(
            *(no_worse(scheme.at(98), BASE.at(98), from_ms=300) for scheme in (PI, BYTE)),
            no_worse(BASE.at(98), REM.at(98), from_ms=300),
        ),
    ),
    Said(
        "Section 4.4, tables 2 and 3",
        "drop-tail carries and completes more than PI, REM and ARED in byte mode without ECN, and loses more",
        every(
            part
            for load in LOADS
            for scheme in (PI, REM, BYTE)
            for part in (
                carries_more(BASE.at(load), scheme.at(load)),
                completes_more(BASE.at(load), scheme.at(load)),
                loses_less(scheme.at(load), BASE.at(load)),
            )
        ),
    ),
    Said(
        "Section 4.4, tables 2 and 3",
        "without ECN ARED in byte mode loses less than PI and REM, and REM completes and carries less than both",
        every(
            part
            for load in LOADS
            for part in (
                *(loses_less(BYTE.at(load), other.at(load)) for other in (PI, REM)),
                *(completes_more(other.at(load), REM.at(load)) for other in (PI, BYTE)),
                *(carries_more(other.at(load), REM.at(load)) for other in (PI, BYTE)),
            )
        ),
    ),
    Said(
        "Section 4.4, figure 11",
        "without ECN at 98 % load PI and ARED in byte mode answer nine tenths of the requests within 2 s",
        every(answered(2_000, scheme.at(98), low=90) for scheme in (PI, BYTE)),
    ),
    Said(
        "Section 4.4, figure 11",
        "without ECN at 98 % load the few requests that take longer than a minute are fewest under drop-tail, then ARED"
        " in byte mode",
        every(
            *(answers_more(60_000, BASE.at(98), scheme.at(98)) for scheme in (PI, REM, BYTE)),
            *(answers_more(60_000, BYTE.at(98), scheme.at(98)) for scheme in (PI, REM)),
        ),
    ),
)
