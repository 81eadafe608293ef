"""Claims of RFC 9332's authors on DualPI2: the words of ``study.toml``, and the parts that no sentence expresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aqmlab.store.result import Result
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.claims.builders import within
from aqmlab.studies.kit.claims.predicates import Part, approximately
from aqmlab.studies.kit.claims.quantities import Column, quantity
from aqmlab.studies.kit.claims.written import Vocabulary, reviewed_claims
from aqmlab.studies.kit.findings import Measure
from aqmlab.studies.kit.study import description

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


def link_name(rate_mbps: int, rtt_ms: int) -> str:
    """Return the link and the round trip in the name of a run."""
    return f"{rate_mbps} Mbit/s/{rtt_ms} ms"


def dual(rate_mbps: int, rtt_ms: int) -> str:
    """Return the name of the run of a Prague and a CUBIC flow under DualPI2."""
    return f"dual/{link_name(rate_mbps, rtt_ms)}"


def single(rate_mbps: int, rtt_ms: int) -> str:
    """Return the name of the run of two CUBIC flows in one queue under PI2."""
    return f"single/{link_name(rate_mbps, rtt_ms)}"


def uncoupled(rate_mbps: int, rtt_ms: int) -> str:
    """Return the name of the run of a Prague and a CUBIC flow, both with ECN, in one queue under PI2."""
    return f"uncoupled/{link_name(rate_mbps, rtt_ms)}"


def mix(l4s: int, classic: int) -> str:
    """Return the name of the run of a number of flows of each kind under DualPI2."""
    return f"mix/{l4s} to {classic}"


def web(per_second: int) -> str:
    """Return the name of the run of short flows of each kind beside a long one under DualPI2."""
    return f"web/{per_second} per s"


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

_L4S_SHARE = Column(what="share of an L4S flow, %", measure=share_percent())
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


_FURTHER: dict[str, Sequence[Part]] = {
    "RFC9332-2": [
        approximately(quantity(Column(what=_L4S_SHARE.what, measure=share_percent(flows=flows)), mix(*flows)), 50)
        for flows in MIXES
    ],
    "RFC9332-3": [within(_L4S_MEAN, dual(*link), high=most_delay_ms(link[0])) for link in GRID],
}

CLAIMS = reviewed_claims(
    description(__package__).claim,
    Vocabulary(
        columns=(_L4S_SHARE, _L4S_P99, _LOSS, _USED, _CLASSIC_GOODPUT, _CLASSIC_DELAY, _CLASSIC_SHARE),
        joint="/",
        lists={
            "links": [link_name(*link) for link in GRID],
            "fast links": [link_name(*link) for link in FAST],
            "corners": [link_name(*link) for link in CORNERS],
            "mixes": [f"{l4s} to {classic}" for l4s, classic in MIXES],
            "short flows": [f"{each} per s" for each in WEBS_PER_SECOND],
        },
    ),
    _FURTHER,
)
