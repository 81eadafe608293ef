"""Claims of Kwon and Fahmy: the words of ``study.toml``, with the measures of the paper's table 1."""

from __future__ import annotations

from functools import partial

from aqmlab.studies.kit.claims.quantities import Column
from aqmlab.studies.kit.claims.written import Vocabulary, reviewed_claims
from aqmlab.studies.kit.study import description
from aqmlab.studies.kwon2003 import measures

RESPONSE = Column(what="session's response time, s", measure=measures.session_s, name="http_response_mean_s", digits=3)
HTTP = Column(
    what="throughput of pages, Mbit/s",
    measure=partial(measures.delivered_mbps, kind=measures.HTTP),
    name="http_throughput_mbps",
    digits=3,
)
UDP_DROPS = Column(what="UDP drops, %", measure=measures.udp_drop_percent, name="udp_drop_percent", digits=3)
ALL_DROPS = Column(what="all drops, %", measure=measures.drop_percent, name="total_drop_percent", digits=3)
UDP_DELAY = Column(what="UDP delay, s", measure=measures.udp_delay_s, name="udp_delay_mean_s", digits=3)
UDP_LONGEST = Column(
    what="longest UDP delay, s", measure=measures.longest_udp_delay_s, name="udp_delay_max_s", digits=3
)
DELAY = Column(what="packet delay, s", measure=measures.packet_delay_s, name="delay_s", digits=4)
MBPS = Column(what="throughput, Mbit/s", measure=measures.delivered_mbps, name="throughput_mbps", digits=4)

_RISES = Column(what="rises of p", measure=measures.rises)
_FALLS = Column(what="falls of p", measure=measures.falls)
_RISES_WITH_ROOM = Column(what="rises of p with room in the buffer, %", measure=measures.rises_with_room_percent)
_FALLS_WITH_QUEUE = Column(what="falls of p with packets waiting, %", measure=measures.falls_with_queue_percent)
_SHORT = Column(what="time below the lower threshold with drops, %", measure=measures.drops_at_short_queue_percent)
_MISSED_CONGESTION = Column(what="overload with little dropping, %", measure=measures.missed_congestion_percent)
_FALSE_CONGESTION = Column(what="underload with much dropping, %", measure=measures.false_congestion_percent)
_ABOVE_TARGET = Column(what="time above the target, %", measure=measures.above_target_percent)

CLAIMS = reviewed_claims(
    description(__package__).claim,
    Vocabulary(
        columns=(
            *(RESPONSE, HTTP, UDP_DROPS, ALL_DROPS, UDP_DELAY, UDP_LONGEST, DELAY, MBPS),
            *(_RISES, _FALLS, _RISES_WITH_ROOM, _FALLS_WITH_QUEUE, _SHORT),
            *(_MISSED_CONGESTION, _FALSE_CONGESTION, _ABOVE_TARGET),
        )
    ),
)
