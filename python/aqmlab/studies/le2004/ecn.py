"""What the extended version of 2004 says of its experiments with ECN: section 5."""

from __future__ import annotations

from aqmlab.studies.le.claims import Said, alike, answers_more, better, every, much_better, near, not_better
from aqmlab.studies.le.schemes import UNCONGESTED, ared, pi
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

WITH_ECN: tuple[Said, ...] = (
    Said(
        "Section 5.1, figures 12 and 13",
        "ECN makes PI better with a target of 24 at 90 % load, and much better with either at 98 %; with 240 it makes"
        " no difference at 90 %",
        every(
            better(PI_ECN.at(90), PI.at(90)),
            alike(pi(240, ecn=True).at(90), pi(240).at(90)),
            *(much_better(pi(target, ecn=True).at(98), pi(target).at(98)) for target in TARGETS),
        ),
    ),
    Said(
        "Section 5.1, figures 14 and 15",
        "ECN makes REM much better: worse than drop-tail without, it is better with, and like PI",
        every(
            part
            for load in LOADS
            for part in (
                much_better(REM_ECN.at(load), REM.at(load)),
                better(BASE.at(load), REM.at(load)),
                better(REM_ECN.at(load), BASE.at(load)),
                alike(REM_ECN.at(load), PI_ECN.at(load)),
            )
        ),
    ),
    Said(
        "Section 5.2, figures 16 to 19",
        "ECN makes no difference to ARED in either mode, with either thresholds",
        every(
            alike(ared(min_th, mode=mode, signal="ecn").at(load), ared(min_th, mode=mode).at(load))
            for load in LOADS
            for mode in ("packet", "byte")
            for min_th in ARED_MIN
        ),
    ),
    Said(
        "Section 5.2, figures 16 and 17",
        "ARED in packet mode is worse than drop-tail, with ECN and without",
        every(
            better(BASE.at(load), ared(min_th, signal=signal).at(load))
            for load in LOADS
            for min_th in ARED_MIN
            for signal in ("drop", "ecn")
        ),
    ),
    Said(
        "Section 5.2, figures 18 and 19",
        "with ECN ARED in byte mode is better than drop-tail with thresholds of 12 and 36 only, and there no better"
        " than without ECN",
        every(
            part
            for load in LOADS
            for part in (
                better(BYTE_ECN.at(load), BASE.at(load)),
                not_better(ared(120, mode="byte", signal="ecn").at(load), BASE.at(load)),
                not_better(BYTE_ECN.at(load), BYTE.at(load)),
            )
        ),
    ),
    Said(
        "Section 5.2, figures 20 and 21",
        "marking in the gentle region makes ARED in packet mode much better, and better than drop-tail",
        every(
            part
            for load in LOADS
            for part in (
                much_better(PACKET_NEW.at(load), PACKET_ECN.at(load)),
                better(PACKET_NEW.at(load), BASE.at(load)),
            )
        ),
    ),
    Said(
        "Section 5.2, figures 20 and 21",
        "marking in the gentle region makes ARED in byte mode better at 90 % load, not at 98 %, and at neither better"
        " than without ECN",
        every(
            better(BYTE_NEW.at(90), BYTE_ECN.at(90)),
            not_better(BYTE_NEW.at(98), BYTE_ECN.at(98)),
            *(not_better(BYTE_NEW.at(load), BYTE.at(load)) for load in LOADS),
        ),
    ),
    Said(
        "Section 5.2",
        "the best ARED is in byte mode without ECN",
        every(
            not_better(other.at(load), BYTE.at(load))
            for load in LOADS
            for other in (BYTE_ECN, BYTE_NEW, PACKET, PACKET_ECN, PACKET_NEW)
        ),
    ),
    Said(
        "Section 5.3, figure 22",
        "at 90 % load PI and REM with ECN, and ARED in byte mode without, are near the uncongested network for the"
        " shortest 85 % (up to 400 ms), and better than drop-tail",
        every(
            part
            for scheme in (PI_ECN, REM_ECN, BYTE)
            for part in (
                near(scheme.at(90), UNCONGESTED.at(90), to_ms=400),
                better(scheme.at(90), BASE.at(90)),
            )
        ),
    ),
    Said(
        "Section 5.3, figure 22",
        "at 90 % load PI and REM with ECN are better than ARED in byte mode without for what takes longer than 400 ms",
        every(better(scheme.at(90), BYTE.at(90), from_ms=400) for scheme in (PI_ECN, REM_ECN)),
    ),
    Said(
        "Section 5.3, figure 23",
        "at 98 % load PI and REM with ECN are much better than drop-tail and than ARED in byte mode without, which is"
        " better than drop-tail",
        every(
            *(much_better(scheme.at(98), other.at(98)) for scheme in (PI_ECN, REM_ECN) for other in (BASE, BYTE)),
            better(BYTE.at(98), BASE.at(98)),
        ),
    ),
    Said(
        "Section 5.3, figure 24",
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
)
