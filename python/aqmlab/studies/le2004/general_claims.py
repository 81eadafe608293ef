"""Claims of Le et al. (2004) on general round-trip times, section 6, and those beyond the registered ones.

In packet mode ARED has thresholds of 120 and 360 with general round-trip times, as in table 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.studies.kit.claims.builders import better, close, fewer, more, much_better, same
from aqmlab.studies.kit.claims.predicates import Greater, InRange
from aqmlab.studies.kit.claims.quantities import AREA, Quantity, count_greater, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, added_claim, reviewed_claim
from aqmlab.studies.le.comparisons import compare, run_names
from aqmlab.studies.le.quantities import COMPLETED, LOSS, MBPS, about_beyond, about_percent, little_loss
from aqmlab.studies.le.schemes import BASE, CONTROLLED, PI_24, PI_ECN, REM_24, REM_ECN, UNCONGESTED, PaperScheme
from aqmlab.studies.le2004.schemes import (
    BYTE,
    BYTE_NEW,
    LOADS,
    PACKET,
    PACKET_120,
    PACKET_120_NEW,
    PACKET_ECN,
    PACKET_NEW,
    areds,
)

_RTT = "general"
_BEST = (PI_24, REM_24, BYTE)
_MARKING = (PI_ECN, REM_ECN, BYTE_NEW)


def _effect(scheme: PaperScheme, load: int, rtt: str) -> Quantity:
    """Return the mean distance of a scheme's curve from drop-tail's, above or below."""
    one, other = quantity(AREA, scheme.at(load, rtt)), quantity(AREA, BASE.at(load, rtt))
    return Quantity(
        what=f"distance of {one.runs[0]} from drop-tail on average, points",
        runs=(*one.runs, *other.runs),
        read=lambda some: abs(one.read(some[:1]) - other.read(some[1:])),
        printed=lambda printed: None,
    )


_ARED_LOSSES = [
    (quantity(LOSS, marking.at(load)), quantity(LOSS, dropping.at(load)))
    for load in LOADS
    for mode in ("packet", "byte")
    for marking, dropping in zip(areds(mode, "ecn"), areds(mode), strict=True)
]
"""Losses with and without ECN in each of the eight experiments."""


GENERAL_CLAIMS: Sequence[ReviewedClaim] = (
    reviewed_claim(
        "le2004-28",
        "indistinguishable from drop-tail and surprisingly close to the performance achieved",
        compare(90, same, _BEST, BASE, rtt=_RTT),
        compare(90, close, _BEST, UNCONGESTED, rtt=_RTT),
    ),
    reviewed_claim(
        "le2004-29",
        "ARED packet-mode significantly underperforms drop-tail; still gives poor performance",
        compare(90, much_better, BASE, PACKET_120, rtt=_RTT),
        compare(98, better, BASE, PACKET_120, rtt=_RTT),
    ),
    reviewed_claim(
        "le2004-30",
        "again, all give near identical performance",
        compare(98, close, _BEST, BASE, rtt=_RTT),
    ),
    reviewed_claim(
        "le2004-31",
        "identical performance that is nearly the best possible performance",
        (
            (compare(90, same, scheme, BASE, rtt=_RTT), compare(90, close, scheme, UNCONGESTED, rtt=_RTT))
            for scheme in (*_MARKING, PACKET_120_NEW)
        ),
    ),
    reviewed_claim(
        "le2004-32",
        "identical performance for the first 50% of request/response exchanges",
        compare(98, same, _MARKING, BASE, rtt=_RTT, to_ms=250),
        about_percent(250, 50, *run_names(98, (BASE, *_MARKING), _RTT)),
    ),
    reviewed_claim(
        "le2004-33",
        "PI and REM perform best; performs better than drop-tail",
        compare(98, better, CONTROLLED, BYTE_NEW, rtt=_RTT, from_ms=250),
        compare(98, better, BYTE_NEW, BASE, rtt=_RTT, from_ms=250),
    ),
    reviewed_claim(
        "le2004-34",
        "very slightly underperforms drop-tail initially and then approximates",
        compare(98, close, PACKET_120_NEW, BASE, rtt=_RTT),
    ),
    reviewed_claim(
        "le2004-35",
        "loss-rates decrease with the addition of ECN",
        (
            compare(load, fewer, *pair, rtt=_RTT, column=LOSS)
            for load in LOADS
            for pair in ((PI_ECN, PI_24), (REM_ECN, REM_24), (BYTE_NEW, BYTE), (PACKET_120_NEW, PACKET_120))
        ),
    ),
)

ADDED_CLAIMS: Sequence[ReviewedClaim] = (
    added_claim(
        "le2004-36",
        "Abstract, fourth result",
        "the wider the round-trip times, the less PI, REM and ARED in byte mode differ from drop-tail, with ECN or not",
        "the impact of AQM and ECN on response-time performance is reduced",
        (
            Greater(one=_effect(scheme, load, "uniform"), than=_effect(scheme, load, _RTT))
            for load in LOADS
            for scheme in (*_BEST, *CONTROLLED)
        ),
    ),
    added_claim(
        "le2004-37",
        "Section 5.2, table 3",
        "in six at least of the eight ARED experiments the loss is higher with ECN: as in the paper's own table",
        "in almost all the ARED experiments, the loss rate is higher",
        InRange(
            value=count_greater("ARED experiments that lose more with ECN", _ARED_LOSSES),
            low=6,
        ),
    ),
    added_claim(
        "le2004-38",
        "Section 4.4, figure 9",
        "without ECN at 90 % load PI, REM and drop-tail answer some 40 % of the requests within 125 ms",
        "the 40% of exchanges that can be completed in approximately 125",
        about_percent(125, 40, *run_names(90, (PI_24, REM_24, BASE))),
    ),
    added_claim(
        "le2004-39",
        "Section 4.4, figure 10",
        "without ECN at 98 % load PI, REM and ARED in byte mode answer some 65 % within 300 ms",
        "65% of request/response exchanges that can be completed in 300",
        about_percent(300, 65, *run_names(98, _BEST)),
    ),
    added_claim(
        "le2004-40",
        "Section 4.1, figure 5",
        "without ECN at 98 % load PI with a target of 24 answers some 70 % within 400 ms",
        "only the shortest 70%; requiring less than approximately 400 milliseconds",
        about_percent(400, 70, PI_24.at(98)),
    ),
    added_claim(
        "le2004-41",
        "Section 5.3, figure 22",
        "at 90 % load PI and REM with ECN and ARED in byte mode without answer some 85 % within 400 ms",
        "for the shortest 85% of request/response exchanges",
        about_percent(400, 85, *run_names(90, (*CONTROLLED, BYTE))),
    ),
    added_claim(
        "le2004-42",
        "Section 5.3, figure 24",
        "at 98 % load about 1 % of the requests take longer than 5 s under PI and REM with ECN",
        "experiencing response times longer than 5 seconds complete sooner",
        about_beyond(5, 1, *run_names(98, CONTROLLED)),
    ),
    added_claim(
        "le2004-43",
        "Section 5.2, tables 2 and 3",
        "ARED in packet mode that marks in the gentle region loses less than else, and like PI and REM with ECN",
        "loss rates lower than; comparable to PI and REM with ECN",
        (
            (
                compare(load, fewer, PACKET_NEW, (PACKET, PACKET_ECN), column=LOSS),
                (little_loss(PACKET_NEW.at(load), other.at(load)) for other in CONTROLLED),
            )
            for load in LOADS
        ),
    ),
    added_claim(
        "le2004-44",
        "Section 5.2, table 3",
        "ARED in byte mode without ECN completes and carries more than in packet mode that marks in the gentle region;"
        " it loses alike at 90 % load, more at 98 %",
        "a comparable loss rate at 90% load but a higher",
        little_loss(BYTE.at(90), PACKET_NEW.at(90)),
        compare(98, more, BYTE, PACKET_NEW, column=LOSS),
        (compare(load, more, BYTE, PACKET_NEW, column=column) for load in LOADS for column in (COMPLETED, MBPS)),
    ),
    added_claim(
        "le2004-45",
        "Section 5.3, figure 23",
        "at 98 % load ARED in byte mode without ECN is like PI and REM with ECN for the shortest 45 %",
        "except for the shortest 45% of request/response exchanges",
        compare(98, close, CONTROLLED, BYTE, to_ms=150),
    ),
)
