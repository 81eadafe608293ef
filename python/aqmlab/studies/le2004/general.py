"""What the extended version of 2004 says of its experiments with general round-trip times: section 6."""

from __future__ import annotations

from aqmlab.studies.le.claims import Said, alike, answered, better, every, loses_less, much_better, near
from aqmlab.studies.le.schemes import UNCONGESTED
from aqmlab.studies.le2004.schemes import BASE, BYTE, BYTE_NEW, LOADS, PACKET, PACKET_NEW, PI, PI_ECN, REM, REM_ECN

_RTT = "general"

WITH_GENERAL_RTT: tuple[Said, ...] = (
    Said(
        "Section 6, figure 25",
        "with general round-trip times, without ECN, at 90 % load, PI, REM and ARED in byte mode are like drop-tail and"
        " near the uncongested network",
        every(
            part
            for scheme in (PI, REM, BYTE)
            for part in (
                alike(scheme.at(90, _RTT), BASE.at(90, _RTT)),
                near(scheme.at(90, _RTT), UNCONGESTED.at(90, _RTT)),
            )
        ),
    ),
    Said(
        "Section 6, figures 25 and 26",
        "with general round-trip times, without ECN, ARED in packet mode is worse than drop-tail: much worse at 90 %"
        " load",
        every(
            much_better(BASE.at(90, _RTT), PACKET.at(90, _RTT)),
            better(BASE.at(98, _RTT), PACKET.at(98, _RTT)),
        ),
    ),
    Said(
        "Section 6, figure 26",
        "with general round-trip times, without ECN, at 98 % load, PI, REM and ARED in byte mode are like drop-tail",
        every(alike(scheme.at(98, _RTT), BASE.at(98, _RTT)) for scheme in (PI, REM, BYTE)),
    ),
    Said(
        "Section 6, figure 27",
        "with general round-trip times and ECN, at 90 % load, all schemes are like drop-tail and near the uncongested"
        " network",
        every(
            part
            for scheme in (PI_ECN, REM_ECN, BYTE_NEW, PACKET_NEW)
            for part in (
                alike(scheme.at(90, _RTT), BASE.at(90, _RTT)),
                near(scheme.at(90, _RTT), UNCONGESTED.at(90, _RTT)),
            )
        ),
    ),
    Said(
        "Section 6, figure 28",
        "with general round-trip times and ECN, at 98 % load, PI, REM and ARED in byte mode (new gentle) are like"
        " drop-tail up to 250 ms, within which half of the requests are answered",
        every(
            part
            for scheme in (PI_ECN, REM_ECN, BYTE_NEW)
            for part in (
                alike(scheme.at(98, _RTT), BASE.at(98, _RTT), to_ms=250),
                answered(250, scheme.at(98, _RTT), low=45, high=55),
            )
        ),
    ),
    Said(
        "Section 6, figure 28",
        "with general round-trip times and ECN, at 98 % load, beyond 250 ms PI and REM are better than ARED in byte"
        " mode (new gentle), and this than drop-tail",
        every(
            *(better(scheme.at(98, _RTT), BYTE_NEW.at(98, _RTT), from_ms=250) for scheme in (PI_ECN, REM_ECN)),
            better(BYTE_NEW.at(98, _RTT), BASE.at(98, _RTT), from_ms=250),
        ),
    ),
    Said(
        "Section 6, figure 28",
        "with general round-trip times, at 98 % load, ARED in packet mode (new gentle) is like drop-tail",
        alike(PACKET_NEW.at(98, _RTT), BASE.at(98, _RTT)),
    ),
    Said(
        "Section 6, table 4",
        "with general round-trip times ECN lowers the loss",
        every(
            loses_less(marking.at(load, _RTT), dropping.at(load, _RTT))
            for load in LOADS
            for marking, dropping in ((PI_ECN, PI), (REM_ECN, REM), (BYTE_NEW, BYTE), (PACKET_NEW, PACKET))
        ),
    ),
)
