"""What the paper says, as predicates, written down before any result was looked at.

Margins are those of the studies of response times: two percentage points of the requests are a visible difference,
five a substantial one; "very close" is within five, "almost identical" within two. A response-time profile is better
where it is nowhere visibly worse from 100 ms to 2 s, the end of the paper's axes, and visibly better at 1 s, their
middle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from aqmlab.studies.kit.claims import All, Claim, Dominates, Greater, Predicate, Raises
from aqmlab.studies.kuzmanovic2005.measures import (
    beyond_6s,
    excess_over_model,
    queue_ms,
    queue_packets,
    queue_packets_sampled,
    throughput_mbps,
    within_1s,
)
from aqmlab.studies.kuzmanovic2005.names import LAWS, LENGTHS, LOADS, equal_flows, scheme, threshold, uncongested
from aqmlab.studies.kuzmanovic2005.predicates import EachBetween, WiderGap

_VISIBLE = 0.02
_VERY_CLOSE = 0.05
_ALMOST_IDENTICAL = 0.02

_OTHERS = tuple(law for law in LAWS if law != "PI")
_MODERATE = tuple(law for law in LAWS if law != "RED*")

_EQUAL_FLOWS = tuple(equal_flows(length) for length in LENGTHS)

FULL_BURSTS = (6, 14, 30, 62)
"""Flows of 2, 4, 8, ... packets in bursts: each ends with a full one."""


def _more_within_1s(one: str, other: str, margin: float) -> Predicate:
    return Greater(what="share within 1 s", measure=within_1s, scheme=one, than=other, margin=margin)


def _nowhere_worse(one: str, other: str, margin: float) -> Predicate:
    return Dominates(scheme=one, over=other, from_ms=100, to_ms=2000, margin=-margin)


def _better(one: str, other: str) -> tuple[Predicate, Predicate]:
    return _nowhere_worse(one, other, _VISIBLE), _more_within_1s(one, other, _VISIBLE)


def _gain(law: str, load: int) -> tuple[str, str]:
    return scheme(law, "ECN+", load), scheme(law, "ECN", load)


def _throughput_gain(law: str, load: int, low: float, high: float = math.inf) -> Predicate:
    one, other = _gain(law, load)
    return Raises(
        what="throughput", measure=throughput_mbps, scheme=one, over=other, low_percent=low, high_percent=high
    )


def _claim(number: int, place: str, gist: str, *parts: Iterable[Predicate]) -> Claim:
    return Claim(
        id=f"kuzmanovic2005-{number}", place=place, gist=gist, predicate=All(parts=tuple(itertools.chain(*parts)))
    )


CLAIMS = (
    _claim(
        1,
        "Section 4.3, figure 5",
        "Under PI users are answered sooner with ECN than without, at both loads.",
        *(_better(scheme("PI", "ECN", load), scheme("PI", "drop", load)) for load in LOADS),
    ),
    _claim(
        2,
        "Section 4.3, figure 5",
        "Under PI users are answered sooner yet with ECN+, and gain more from it than from ECN.",
        *(_better(*_gain("PI", load)) for load in LOADS),
        (
            WiderGap(
                what="share within 1 s",
                measure=within_1s,
                between=_gain("PI", load),
                than=(scheme("PI", "ECN", load), scheme("PI", "drop", load)),
                margin=0,
            )
            for load in LOADS
        ),
    ),
    _claim(
        3,
        "Section 4.3, figure 5",
        "Under PI with ECN+ response times are very close to those of the uncongested network, at both loads.",
        (_nowhere_worse(scheme("PI", "ECN+", load), uncongested(load), _VERY_CLOSE) for load in LOADS),
    ),
    _claim(
        4,
        "Section 4.4",
        "Under every AQM users are answered visibly sooner with ECN+ than with ECN.",
        *(_better(*_gain(law, load)) for law in LAWS for load in LOADS),
    ),
    _claim(
        5,
        "Section 4.4, table 1",
        "Under PI, RED and REM ECN+ carries from 1 to 5 % more than ECN.",
        (_throughput_gain(law, load, 1, 5) for law in _MODERATE for load in LOADS),
    ),
    _claim(
        6,
        "Section 4.4, table 1",
        "Under no AQM does ECN+ carry less than ECN.",
        (_throughput_gain(law, load, 0) for law in LAWS for load in LOADS),
    ),
    _claim(
        7,
        "Section 4.4, table 1",
        "Under RED* ECN+ carries 6 % more than ECN at the light load and 20 % more at the heavy one (each within 2).",
        (_throughput_gain("RED*", 90, 4, 8), _throughput_gain("RED*", 105, 18, 22)),
    ),
    _claim(
        8,
        "Section 4.4",
        "With ECN RED* lets the queue grow further than RED, and more requests wait for the handshake's timeout.",
        *(
            (
                Greater(
                    what="mean queue, packets",
                    measure=queue_packets_sampled,
                    scheme=scheme("RED*", "ECN", load),
                    than=scheme("RED", "ECN", load),
                ),
                Greater(
                    what="share above 6 s",
                    measure=beyond_6s,
                    scheme=scheme("RED*", "ECN", load),
                    than=scheme("RED", "ECN", load),
                    margin=_VISIBLE,
                ),
            )
            for load in LOADS
        ),
    ),
    _claim(
        9,
        "Section 4.5",
        "With ECN+ PI answers soonest of all AQMs.",
        (
            _more_within_1s(scheme("PI", "ECN+", load), scheme(law, "ECN+", load), 0)
            for law in _OTHERS
            for load in LOADS
        ),
    ),
    _claim(
        10,
        "Section 4.5",
        "PI's lead over the other AQMs is visibly smaller with ECN+ than with ECN.",
        (
            WiderGap(
                what="share within 1 s",
                measure=within_1s,
                between=(scheme("PI", "ECN", load), scheme(law, "ECN", load)),
                than=(scheme("PI", "ECN+", load), scheme(law, "ECN+", load)),
                margin=_VISIBLE,
            )
            for law in _OTHERS
            for load in LOADS
        ),
    ),
    _claim(
        11,
        "Section 4.5",
        "With ECN+ response times under RED* and REM are almost identical.",
        *(
            (
                _nowhere_worse(scheme("RED*", "ECN+", load), scheme("REM", "ECN+", load), _ALMOST_IDENTICAL),
                _nowhere_worse(scheme("REM", "ECN+", load), scheme("RED*", "ECN+", load), _ALMOST_IDENTICAL),
            )
            for load in LOADS
        ),
    ),
    _claim(
        12,
        "Section 4.5",
        "With ECN+ users are answered sooner under RED* than under RED.",
        *(_better(scheme("RED*", "ECN+", load), scheme("RED", "ECN+", load)) for load in LOADS),
    ),
    _claim(
        13,
        "Section 4.5",
        "RED* gains more from ECN+ than any other AQM.",
        (
            WiderGap(
                what="share within 1 s",
                measure=within_1s,
                between=_gain("RED*", load),
                than=_gain(law, load),
                margin=0,
            )
            for law in LAWS
            if law != "RED*"
            for load in LOADS
        ),
    ),
    _claim(
        14,
        "Section 5.2.1, figure 6",
        "At 90 % load a bare threshold with ECN+ answers sooner than PI that drops.",
        _better(threshold(90), scheme("PI", "drop", 90)),
    ),
    _claim(
        15,
        "Section 5.2.1",
        "At 90 % load a bare threshold with ECN+ carries approximately as much as PI that drops (within 2 %).",
        (
            Raises(
                what="throughput",
                measure=throughput_mbps,
                scheme=threshold(90),
                over=scheme("PI", "drop", 90),
                low_percent=-2,
                high_percent=2,
            ),
        ),
    ),
    _claim(
        16,
        "Section 5.2.2, figure 7",
        "At 80 % the simulated mean queue matches the model's at each length of flows: within 20 % of it, or 2 packets"
        " where that is more.",
        (
            EachBetween(
                what="simulated above model, % of the model or of 10 packets",
                measure=excess_over_model,
                schemes=_EQUAL_FLOWS,
                low=-20,
                high=20,
            ),
        ),
    ),
    _claim(
        17,
        "Section 5.2.2, figure 7",
        "The mean queue does not always grow with the flows: it is longest where flows end with a full burst, and"
        " two packets more make it shorter.",
        (
            Greater(
                what="mean queue, packets",
                measure=queue_packets,
                scheme=equal_flows(length),
                than=equal_flows(length + 2),
            )
            for length in FULL_BURSTS
        ),
    ),
    _claim(
        18,
        "Section 5.2.2, figure 7",
        "At 80 % the mean queue is below the 5 ms that AQMs aim at, whatever the length of flows.",
        (EachBetween(what="mean queue, ms", measure=queue_ms, schemes=_EQUAL_FLOWS, low=0, high=5),),
    ),
)
