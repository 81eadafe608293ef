"""Claims of RFC 9332's authors on DualPI2.

They were registered in the words of ``kit/claims/predicates.py`` before any run, so that both readings have the same
predicates. ``registered.json`` has the meaning of further words in numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aqmlab.store.result import Result
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.claims.builders import within
from aqmlab.studies.kit.claims.predicates import CLOSE, InRange, approximately
from aqmlab.studies.kit.claims.quantities import Column, change_percent, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, reviewed_claim
from aqmlab.studies.kit.findings import Measure

RATES_MBPS = (4, 12, 40, 120, 200)
RTTS_MS = (5, 10, 20, 50, 100)
GRID = tuple((rate, rtt) for rate in RATES_MBPS for rtt in RTTS_MS)
"""The links and base round trips of De Schepper et al. 2016, up to those that RFC 9332, section 1.4, names."""

CORNERS = tuple((rate, rtt) for rate in (12, 120) for rtt in (10, 50))
"""Links on which a single queue runs as well; our choice."""

MIXES = ((1, 9), (2, 8), (5, 5), (8, 2), (9, 1))
"""L4S and Classic flows, ten together; ours."""

WEBS_PER_SECOND = (10, 50)
"""Short flows of each kind that arrive in a second beside one long flow of each; ours."""

L4S, CLASSIC = "L4S", "Classic"
"""The sources, and the queues of DualPI2."""

_FRAME_BITS = 8 * 1538
_SMALL_PERCENT = 20.0


def dual(rate_mbps: int, rtt_ms: int) -> str:
    """Return the name of the run of a Prague and a CUBIC flow under DualPI2."""
    return f"dual/{rate_mbps} Mbit/s/{rtt_ms} ms"


def single(rate_mbps: int, rtt_ms: int) -> str:
    """Return the name of the run of two CUBIC flows in one queue under PI2."""
    return f"single/{rate_mbps} Mbit/s/{rtt_ms} ms"


def uncoupled(rate_mbps: int, rtt_ms: int) -> str:
    """Return the name of the run of a Prague and a CUBIC flow, both with ECN, in one queue under PI2."""
    return f"uncoupled/{rate_mbps} Mbit/s/{rtt_ms} ms"


def mix(l4s: int, classic: int) -> str:
    """Return the name of the run of a number of flows of each kind under DualPI2."""
    return f"mix/{l4s} to {classic}"


def web(per_second: int) -> str:
    """Return the name of the run of short flows of each kind beside a long one under DualPI2."""
    return f"web/{per_second} per s"


DUALS = (*(dual(*link) for link in GRID), *(mix(*flows) for flows in MIXES), *map(web, WEBS_PER_SECOND))
"""All runs under DualPI2."""


def share_percent(one: str = L4S, other: str = CLASSIC, *, flows: tuple[int, int] = (1, 1)) -> Measure:
    """Return the share of a flow of one source in the goodput of one flow of each; ``flows`` are their numbers."""

    def read(result: Result) -> float:
        mbps = [
            kit.of_source(name, "goodput_mbps")(result) / number
            for name, number in zip((one, other), flows, strict=True)
        ]
        return 100 * mbps[0] / sum(mbps)

    return read


def utilisation_percent(result: Result) -> float:
    """Return the utilization of the link in the direction of the data, in percent."""
    return 100 * float(_data(result)["utilisation"])


def delay_ms(queue: str, statistic: str) -> Measure:
    """Return the mean or a percentile of the queueing delay in one of the two queues."""

    def read(result: Result) -> float:
        (found,) = (each for each in _data(result)["classes"] if each["name"] == queue)
        return float(found["queue_delay_ms"][statistic])

    return read


def single_delay_ms(result: Result) -> float:
    """Return the mean queueing delay of the data, of all queues."""
    return float(_data(result)["queue_delay_ms"]["mean"])


def _data(result: Result) -> dict[str, Any]:
    directions: Sequence[dict[str, Any]] = result.summary["directions"]
    (found,) = (each for each in directions if each["direction"] == kit.DATA)
    return found


def l4s_loss_percent(result: Result) -> float:
    """Return the loss of all L4S flows, with the short ones, in percent."""
    flows = kit.sources(result, L4S)
    sent, lost = (sum(int(it[what]) for it in flows) for what in ("packets_sent", "packets_lost"))
    return 100 * lost / sent


def most_delay_ms(rate_mbps: int) -> float:
    """Return the bound of the mean delay in RFC 9332, section 1.4: 1 ms, or two packets where those take longer."""
    packet_ms = _FRAME_BITS / (1000 * rate_mbps)
    return 1.0 if packet_ms <= 1 else 2 * packet_ms


FAST = tuple(link for link in GRID if 2 * _FRAME_BITS / (1000 * link[0]) < 2)
"""Links on which two packets take less than 2 ms."""

_L4S_MEAN = Column(what="L4S queue, mean delay, ms", measure=delay_ms(L4S, "mean"))
_L4S_P99 = Column(what="L4S queue, p99 of delay, ms", measure=delay_ms(L4S, "p99"))
_LOSS = Column(what="L4S packets lost, %", measure=l4s_loss_percent)
_USED = Column(what="utilisation, %", measure=utilisation_percent)
_CLASSIC_GOODPUT = Column(what="the CUBIC flow's goodput, Mbit/s", measure=kit.of_source(CLASSIC, "goodput_mbps"))
_CLASSIC_DELAY = Column(
    what="delay of Classic packets, ms",
    measure=lambda it: delay_ms(CLASSIC, "mean")(it) if _data(it)["classes"] else single_delay_ms(it),
)
_CLASSIC_SHARE = Column(what="share of the CUBIC flow, %", measure=share_percent(CLASSIC, L4S))


def _balanced(run: str, flows: tuple[int, int] = (1, 1)) -> InRange:
    column = Column(what="share of an L4S flow, %", measure=share_percent(flows=flows))
    return approximately(quantity(column, run), 50)


CLAIMS: Sequence[ReviewedClaim] = (
    reviewed_claim("RFC9332-1", "roughly equivalent throughput per flow", (_balanced(dual(*link)) for link in GRID)),
    reviewed_claim(
        "RFC9332-2",
        "any combination of Scalable and Classic flows",
        (_balanced(mix(*flows), flows) for flows in MIXES),
    ),
    reviewed_claim(
        "RFC9332-3",
        "sub-millisecond average queuing delay",
        (within(_L4S_MEAN, dual(*link), high=most_delay_ms(link[0])) for link in GRID),
    ),
    reviewed_claim("RFC9332-4", "99th percentile below 2 ms", (within(_L4S_P99, dual(*link), high=2) for link in FAST)),
    reviewed_claim(
        "RFC9332-5",
        "even under highly dynamic workloads",
        (within(_L4S_P99, web(each), high=2) for each in WEBS_PER_SECOND),
    ),
    reviewed_claim("RFC9332-6", "zero congestion loss", (within(_LOSS, run, high=0) for run in DUALS)),
    reviewed_claim(
        "RFC9332-7", "close to full utilization", (within(_USED, dual(*link), low=100 - CLOSE) for link in GRID)
    ),
    reviewed_claim(
        "RFC9332-8",
        "without compromising the performance of the Classic traffic",
        (
            (
                InRange(value=change_percent(_CLASSIC_GOODPUT, dual(*link), single(*link)), low=-CLOSE),
                InRange(value=change_percent(_CLASSIC_DELAY, dual(*link), single(*link)), high=CLOSE),
            )
            for link in CORNERS
        ),
    ),
    reviewed_claim(
        "RFC9332-9",
        "would drive themselves to a small capacity share",
        (within(_CLASSIC_SHARE, uncoupled(*link), high=_SMALL_PERCENT) for link in CORNERS),
    ),
)
