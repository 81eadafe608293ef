"""Claims about L4S beside Classic traffic: the columns and lists that the sentences of ``study.toml`` name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aqmlab.studies.kit.claims.quantities import Column
from aqmlab.studies.kit.claims.written import Vocabulary, reviewed_claims
from aqmlab.studies.kit.study import description
from aqmlab.studies.l4s import measures
from aqmlab.studies.l4s.matrix import (
    BASE,
    BUFFERS,
    CUBIC,
    FLOOR,
    FQ,
    MIXES,
    PRAGUE,
    QUEUES,
    ROUND_TRIPS,
    SLOW,
    Point,
    pair,
)

_COLUMNS = (
    Column(what="share of a Prague flow, %", measure=measures.share_percent),
    Column(what="share of the first flow, %", measure=measures.first_share_percent),
    Column(what="utilisation, %", measure=measures.utilisation_percent),
    *(
        column
        for control in (PRAGUE, CUBIC)
        for column in (
            Column(what=f"goodput of a {control} flow, Mbit/s", measure=measures.goodput_mbps(control)),
            Column(what=f"mean delay of {control} packets, ms", measure=measures.delay_ms(control, "mean")),
        )
    ),
    Column(what="p99 of the delay of Prague packets, ms", measure=measures.delay_ms(PRAGUE, "p99")),
    Column(what="Prague packets lost, %", measure=measures.loss_percent(PRAGUE)),
)

_DROPPING = ("FIFO", "CoDel", "PIE")
_MARKING = ("CoDel, ECN", "PIE, ECN")
_FAIR = ("FQ-CoDel", "FQ-CoDel, L4S", "CAKE")
_DUAL = ("DualPI2", "DualPI2, 5 ms")


def _places(queues: Iterable[str], points: Sequence[Point] = (BASE,)) -> list[str]:
    return [f"{queue}/{point.name}" for queue in queues for point in points]


_SLOW = [SLOW, Point(rate_mbps=10, rtts_ms=(80, 80))]
_UNEQUAL = [point for point in ROUND_TRIPS if point.rtts_ms[0] != point.rtts_ms[1]]
_EQUAL = [BASE, *(point for point in ROUND_TRIPS if point not in _UNEQUAL)]

CLAIMS = reviewed_claims(
    description(__package__).claim,
    Vocabulary(
        columns=_COLUMNS,
        joint="/",
        lists={
            "classic flows": ["Prague + CUBIC", "Prague + Reno", "Prague + BBR"],
            "classic flows of RFC 5681 and 9438": ["Prague + CUBIC", "Prague + Reno"],
            "mixes": [pair(PRAGUE, CUBIC, flows).name for flows in MIXES],
            "dropping queues": _places(_DROPPING, [BASE, SLOW]),
            "queues with classic ECN": _places(_MARKING, [BASE, SLOW]),
            "fair queueing": _places(_FAIR, [BASE, SLOW]),
            "fair queueing, other buffers and round trips": _places(_FAIR, [*BUFFERS, *ROUND_TRIPS]),
            "DualPI2": _places(_DUAL),
            "DualPI2, equal round trips": _places(_DUAL, _EQUAL),
            "DualPI2, Prague has 10 ms": _places(_DUAL, _UNEQUAL[:1]),
            "DualPI2, CUBIC has 10 ms": _places(_DUAL, _UNEQUAL[1:]),
            "slow DualPI2": _places(["DualPI2"], _SLOW),
            "slow DualPI2 with a floor": _places([FLOOR.name], _SLOW),
            "threshold, long buffers": _places(["threshold"], [BASE, *BUFFERS[2:]]),
            "threshold, classic ECN": _places(["threshold, ECN"]),
            "queues without classic ECN": _places([*_DROPPING, *_FAIR, *_DUAL]),
            "queues for L4S": _places(["FQ-CoDel, L4S", *_DUAL]),
            "isolating queues": _places([*_FAIR, *_DUAL]),
            "classic ECN at the base": _places(_MARKING),
            "dropping queues at the base": _places(_DROPPING),
            "buffers": [point.name for point in BUFFERS[1:]],
            "all queues": _places(queue.name for queue in QUEUES if queue is not FQ),
        },
    ),
)
