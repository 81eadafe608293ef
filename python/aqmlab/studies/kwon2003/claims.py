"""What Kwon and Fahmy say of their results, as claims, written down before any of these experiments was run.

One rule for margins. *An order is taken as it stands*: a difference on the claimed side that the paired interval tells
from none, a margin of 0. *Sameness*, and a throughput that is called high or reasonable, is a tenth: not lower by more
than 10 % than that of what it is compared with, which is drop-tail where the paper names nothing. *Sometimes* is a
tenth of the time that it is about. *Never* is never: not in one sample of one seed.

Left out is what cannot be told from paired seeds: that drop-tail varies most from seed to seed.

A mistake was mended after results had been seen: of claim 13 only 3 of its 12 comparisons of response times were made.
"""

from __future__ import annotations

from collections.abc import Iterable

from aqmlab.studies.kit.claims import All, Between, Claim, Greater, Predicate, Raises
from aqmlab.studies.kit.findings import Measure
from aqmlab.studies.kit.measures import goodput_mbps
from aqmlab.studies.kwon2003 import measures

LIGHT, HEAVY = ("DropTail", "SRED", "BLUE"), ("RED", "FRED", "REM", "LDC")
"""The algorithms that the paper finds to drop little and to drop much."""
ALGORITHMS = ("DropTail", "RED", "SRED", "FRED", "BLUE", "REM", "LDC")
"""In the order of the paper's tables."""

WEIGHTS = {"delay": "1, 0", "load": "0, 1", "half": "1/2, 1/2", "paper": "3/4, 1/4"}
"""The weights of queueing delay and load in LDC's probability, by what we call them."""
OTHER_SETTINGS = ("n=2", "n=4", "tau=10 ms")
"""LDC settings of section 5.3 with which nothing is said to change; which ones were tried is not printed."""


def web(algorithm: str) -> str:
    """Return the name of the run of an algorithm in the simple web configuration."""
    return f"web-{algorithm}"


def gfc2(algorithm: str) -> str:
    """Return the name of the run of an algorithm on GFC-2."""
    return f"gfc2-{algorithm}"


def udp_against(algorithm: str) -> str:
    """Return the name of the run of an algorithm on GFC-2 with UDP against the web's pages."""
    return f"{gfc2(algorithm)}-udp-against"


def ftp(setting: str) -> str:
    """Return the name of the run of an LDC setting in the simple FTP configuration."""
    return f"ftp-{setting}"


DELAY_TARGET = "web-LDC-1.6s"
QUEUE_ONLY = "web-LDC-queue-only"
PAPER = ftp("paper")
"""The weights that the paper prefers."""


def _below(what: str, measure: Measure, ones: Iterable[str], others: Iterable[str]) -> All:
    """Say that each of some runs has less than each of others."""
    # Others may be gone through but once: as a list they are there for each of the ones.
    several = list(others)
    pairs = [(one, other) for one in ones for other in several if one != other]
    return All(parts=tuple(Greater(what=what, measure=measure, scheme=other, than=one) for one, other in pairs))


def _above(what: str, measure: Measure, ones: Iterable[str], others: Iterable[str]) -> All:
    return _below(what, measure, others, ones)


def _not_lower(what: str, measure: Measure, ones: Iterable[str], than: Iterable[str]) -> All:
    """Say that each of some runs has at least nine tenths of what others have."""
    several = list(than)
    pairs = [(one, other) for one in ones for other in several if one != other]
    return All(
        parts=tuple(Raises(what=what, measure=measure, scheme=one, over=other, low_percent=-10) for one, other in pairs)
    )


def _same(what: str, measure: Measure, ones: Iterable[str], to: str) -> tuple[Predicate, ...]:
    return tuple(
        Raises(what=what, measure=measure, scheme=one, over=to, low_percent=-10, high_percent=10) for one in ones
    )


def _never(what: str, measure: Measure, scheme: str) -> Between:
    return Between(what=what, measure=measure, scheme=scheme, high=0)


def _sometimes(what: str, measure: Measure, scheme: str) -> Between:
    return Between(what=what, measure=measure, scheme=scheme, low=10)


def _paper_claims(*claims: tuple[str, str, Predicate]) -> tuple[Claim, ...]:
    return tuple(
        Claim(id=f"kwon2003-{number}", place=place, gist=gist, predicate=predicate)
        for number, (place, gist, predicate) in enumerate(claims, 1)
    )


_RESPONSE = ("response time, s", measures.response_s)
_GOODPUT = ("throughput, Mbit/s", goodput_mbps)
_DELAY = ("queueing delay, s", measures.mean_delay_s)
_ALL = tuple(map(gfc2, ALGORITHMS))

CLAIMS = _paper_claims(
    (
        "section 2, figure 1",
        "BLUE drops more only after an overflow and less only after the queue was empty",
        All(
            parts=(
                _never("rises of p with room in the buffer, %", measures.rises_with_room_percent, web("BLUE")),
                _never("falls of p with packets waiting, %", measures.falls_with_queue_percent, web("BLUE")),
            )
        ),
    ),
    (
        "section 3.1, figure 2",
        "RED goes on dropping for a while though the queue has become short",
        _sometimes("time below the lower threshold with drops, %", measures.drops_at_short_queue_percent, web("RED")),
    ),
    (
        "section 3.1, figure 4",
        "Judging by the queue alone drops little when the load is high and much when it no longer is",
        All(
            parts=(
                _sometimes("overload with little dropping, %", measures.spared_overload_percent, QUEUE_ONLY),
                _sometimes("underload with much dropping, %", measures.punished_underload_percent, QUEUE_ONLY),
            )
        ),
    ),
    (
        "section 5.2.1, figure 8",
        "Under LDC the queueing delay never exceeds its target of 1.6 s",
        _never("time above the target, %", measures.late_percent, DELAY_TARGET),
    ),
    (
        "section 5.3, table 5",
        "Of four weightings of delay and load, 3/4 and 1/4 gives the shortest delay",
        _below(*_DELAY, [PAPER], map(ftp, WEIGHTS)),
    ),
    (
        "section 5.3, table 5",
        "With 3/4 and 1/4 the throughput is reasonable",
        _not_lower(*_GOODPUT, [PAPER], map(ftp, WEIGHTS)),
    ),
    (
        "section 5.3",
        "The exponent n and the interval tau change neither throughput nor delay",
        All(
            parts=(
                *_same(*_GOODPUT, map(ftp, OTHER_SETTINGS), PAPER),
                *_same(*_DELAY, map(ftp, OTHER_SETTINGS), PAPER),
            )
        ),
    ),
    (
        "section 5.2.2, table 3",
        "On GFC-2 FRED has the shortest mean response time",
        _below(*_RESPONSE, [gfc2("FRED")], _ALL),
    ),
    (
        "section 5.2.2, table 3",
        "FRED achieves a high throughput as well",
        _not_lower(*_GOODPUT, [gfc2("FRED")], [gfc2("DropTail")]),
    ),
    (
        "section 5.2.2, table 3",
        "FRED holds back what does not answer: it drops more of the UDP flow than any other",
        _above("UDP drops, %", measures.udp_drop_percent, [gfc2("FRED")], _ALL),
    ),
    (
        "section 5.2.2, table 3",
        "REM has a shorter response time than drop-tail and loses throughput",
        All(
            parts=(
                _below(*_RESPONSE, [gfc2("REM")], [gfc2("DropTail")]),
                _below(*_GOODPUT, [gfc2("REM")], [gfc2("DropTail")]),
            )
        ),
    ),
    (
        "section 5.2.2, table 3",
        "LDC has a shorter response time than drop-tail and loses throughput",
        All(
            parts=(
                _below(*_RESPONSE, [gfc2("LDC")], [gfc2("DropTail")]),
                _below(*_GOODPUT, [gfc2("LDC")], [gfc2("DropTail")]),
            )
        ),
    ),
    (
        "section 5.2.2, table 3",
        "Drop-tail, SRED and BLUE have long response times, each longer than under RED, FRED, REM and LDC, and a high"
        " throughput",
        All(
            parts=(
                _above(*_RESPONSE, map(gfc2, LIGHT), [gfc2(each) for each in HEAVY]),
                _not_lower(*_GOODPUT, map(gfc2, LIGHT), [gfc2("DropTail")]),
            )
        ),
    ),
    (
        "section 5.2.2, table 3",
        "BLUE and SRED drop less than RED, FRED, REM and LDC",
        _below("drops, %", measures.drop_percent, map(gfc2, ("SRED", "BLUE")), [gfc2(each) for each in HEAVY]),
    ),
    (
        "table 3",
        "LDC has the shortest mean delay of the UDP flow",
        _below("UDP delay, s", measures.udp_delay_s, [gfc2("LDC")], _ALL),
    ),
    (
        "table 3",
        "LDC has the shortest of the longest delays of the UDP flow",
        _below("longest UDP delay, s", measures.longest_udp_delay_s, [gfc2("LDC")], _ALL),
    ),
    (
        "section 6",
        "LDC keeps the queueing delay under its target of 4 s on several links",
        _never("time above the target, %", measures.late_percent, gfc2("LDC")),
    ),
)
