"""Claims of Kwon and Fahmy, with the measures of the paper's table 1.

A response time is a session's and a delay a packet's from sender to receiver; the first reading has those of pages and
the queue. The paper prints separate throughputs of HTTP, UDP and FTP: "high" or "lost" throughput is that of the web's
pages. A comment names each claim whose first reading was too lax or nearly empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from aqmlab.studies.kit.claims.builders import fewer, little_change, more, within
from aqmlab.studies.kit.claims.predicates import CLOSE, SAME, InRange, Part
from aqmlab.studies.kit.claims.quantities import Column, change_percent
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.kwon2003 import measures
from aqmlab.studies.kwon2003.names import (
    ALGORITHMS,
    DELAY_TARGET,
    HEAVY,
    LIGHT,
    OTHER_SETTINGS,
    PAPER,
    QUEUE_ONLY,
    WEIGHTS,
    ftp,
    gfc2,
    web,
)

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

_ALL = tuple(map(gfc2, ALGORITHMS))
_SOMETIMES_PERCENT = 10
"""Share of the time that *sometimes* means, as in the first reading."""


def _loses_throughput(algorithm: str, faster: Sequence[str]) -> list[Part]:
    """Claim that an algorithm has shorter response times and less throughput than all but the faster ones."""
    others = [gfc2(other) for other in ALGORITHMS if other not in (algorithm, *faster)]
    return [part for column in (RESPONSE, HTTP) for part in fewer(gfc2(algorithm), *others, column=column)]


CLAIMS: Sequence[ReviewedClaim] = (
    # Nearly empty: a probability that never moves does neither.
    reviewed_claim(
        "kwon2003-1",
        "does not increase until the queue becomes full",
        within(_RISES, web("BLUE"), low=1),
        within(_FALLS, web("BLUE"), low=1),
        within(_RISES_WITH_ROOM, web("BLUE"), high=0),
        within(_FALLS_WITH_QUEUE, web("BLUE"), high=0),
    ),
    reviewed_claim(
        "kwon2003-2",
        "queue length approaches zero, but the packet drop probability stays high",
        within(_SHORT, web("RED"), low=_SOMETIMES_PERCENT),
    ),
    reviewed_claim(
        "kwon2003-3",
        "the load is high but; need not be as high",
        within(_MISSED_CONGESTION, QUEUE_ONLY, low=_SOMETIMES_PERCENT),
        within(_FALSE_CONGESTION, QUEUE_ONLY, low=_SOMETIMES_PERCENT),
    ),
    reviewed_claim(
        "kwon2003-4", "the queuing delay never exceeds the target delay", within(_ABOVE_TARGET, DELAY_TARGET, high=0)
    ),
    reviewed_claim("kwon2003-5", "exhibits the lowest packet delay", fewer(PAPER, *map(ftp, WEIGHTS), column=DELAY)),
    reviewed_claim(
        "kwon2003-6",
        "lowest packet delay and reasonably high throughput",
        (
            InRange(value=change_percent(MBPS, PAPER, ftp(setting)), low=-CLOSE)
            for setting in WEIGHTS
            if ftp(setting) != PAPER
        ),
    ),
    reviewed_claim(
        "kwon2003-7",
        "throughput and delay do not vary with different n values",
        (
            little_change(ftp(setting), PAPER, column=column, limit=SAME)
            for column in (MBPS, DELAY)
            for setting in OTHER_SETTINGS
        ),
    ),
    reviewed_claim(
        "kwon2003-8", "FRED exhibits the shortest response time", fewer(gfc2("FRED"), *_ALL, column=RESPONSE)
    ),
    # Too lax: nine tenths of drop-tail's.
    reviewed_claim("kwon2003-9", "and also achieves high throughput", more(gfc2("FRED"), *_ALL, column=HTTP)),
    reviewed_claim(
        "kwon2003-10",
        "FRED is designed to control misbehaving (CBR-UDP) flows",
        more(gfc2("FRED"), *_ALL, column=UDP_DROPS),
    ),
    # Too lax: beside drop-tail alone.
    reviewed_claim(
        "kwon2003-11",
        "REM achieves low response time but loses some throughput",
        _loses_throughput("REM", ("FRED", "LDC")),
    ),
    reviewed_claim(
        "kwon2003-12",
        "good response time at the expense of some throughput degradation",
        _loses_throughput("LDC", ("FRED",)),
    ),
    reviewed_claim(
        "kwon2003-13",
        "similar ranges, with somewhat high response time, but high throughput",
        (more(gfc2(light), *map(gfc2, HEAVY), column=RESPONSE) for light in LIGHT),
        (more(gfc2(light), gfc2("REM"), gfc2("LDC"), column=HTTP) for light in LIGHT),
    ),
    reviewed_claim(
        "kwon2003-14",
        "BLUE and SRED perform well in terms of packet drop ratio",
        (fewer(gfc2(light), *map(gfc2, HEAVY), column=ALL_DROPS) for light in ("SRED", "BLUE")),
    ),
    reviewed_claim("kwon2003-15", "reduces response time and delay", fewer(gfc2("LDC"), *_ALL, column=UDP_DELAY)),
    reviewed_claim("kwon2003-16", "reduces response time and delay", fewer(gfc2("LDC"), *_ALL, column=UDP_LONGEST)),
    reviewed_claim(
        "kwon2003-17",
        "LDC keeps actual queuing delay under the target queuing delay",
        within(_ABOVE_TARGET, gfc2("LDC"), high=0),
    ),
)
