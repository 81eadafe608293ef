"""What the RFCs on queue management expect of a discipline, as claims.

RFC 7928 says how to characterise, not what must come out. The expectations are those of RFC 7567 and of the
disciplines' own RFCs; the margins are ours, stated before the results were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aqmlab.spec.schemes import Scheme
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.claims import All, Between, Claim, Predicate, Raises
from aqmlab.studies.kit.findings import Measure
from aqmlab.studies.rfc7928 import measures
from aqmlab.studies.rfc7928.schemes import REFERENCE, can_mark


@dataclass(frozen=True, kw_only=True)
class Expectation(Claim):
    """A claim of several disciplines alike: a part for each."""

    predicate: All


def claims(schemes: Sequence[Scheme]) -> list[Expectation]:
    """Return the claims about these schemes; those about named disciplines where they are among them."""
    others = [scheme for scheme in schemes if scheme.label != REFERENCE.label]
    labels = [scheme.label for scheme in others]
    marking = [scheme.label for scheme in others if can_mark(scheme)]
    fifo = [label for label in labels if label in ("codel", "pie")]
    fair = [label for label in labels if label == "fq_codel"]
    stated = [
        _each(
            labels,
            "1",
            "RFC 7567, 2; RFC 7928, 8.2.3",
            "Queue management keeps the standing queue of long flows short: their mean queueing delay is at most half"
            " of that under drop-tail.",
            _over_reference("queueing delay", measures.delay_ms, "medium", high=-50),
        ),
        _each(
            labels,
            "2",
            "RFC 7567, 2; RFC 7928, 8.2.3",
            "The short queue does not cost the link: goodput is at most 5 % below drop-tail's.",
            _over_reference("goodput", kit.goodput_mbps, "medium", low=-5),
        ),
        _each(
            fifo,
            "3",
            "RFC 7567, 4.3; RFC 8289, 4.3; RFC 8033, 4; RFC 7928, 8.2.2 to 8.2.4",
            "Without tuning to the load CoDel and PIE keep to their target: at each of the three levels of congestion"
            " the mean queueing delay is at most twice it, under PIE, which steers to it, at least half of it.",
            lambda label: All(parts=tuple(_near_target(level, label) for level in ("mild", "medium", "heavy"))),
        ),
        _each(
            labels,
            "4",
            "RFC 7567, 1.2; RFC 7928, 9.1, case III",
            "Interactive traffic gains: the 99th percentile of the delay of a voice call's packets beside five bulk"
            " transfers is at most half of that under drop-tail.",
            _over_reference("voice, p99 of delay", kit.of_source("voice", "delay_ms_p99"), "mix-3", high=-50),
        ),
        _each(
            fifo,
            "5",
            "RFC 7567, 3; RFC 7928, 5.3.2",
            "One queue does not protect a flow from one that does not respond: beside UDP at 80 % of the link NewReno"
            " gets no more than what UDP leaves, 2 Mbit/s.",
            lambda label: _tcp_beside_udp(label, high=2.0),
        ),
        _each(
            fair,
            "6",
            "RFC 8290, 6; RFC 7928, 5.3.2",
            "Flow queueing does: NewReno gets at least 4 Mbit/s of the 5 of an equal share.",
            lambda label: _tcp_beside_udp(label, low=4.0),
        ),
        _each(
            marking,
            "7",
            "RFC 8087, 2; RFC 7928, 8.2.3 with ECN",
            "With ECN hosts are told without loss: of the packets of long flows at most 0.05 % are lost, a tenth of"
            " what this load loses under drop-tail, and goodput is at most 2 % below that without ECN.",
            _with_ecn,
        ),
        _each(
            labels,
            "8",
            "RFC 7567, 2; RFC 7928, 7, case II",
            "Bursts get through: the mean time of pages that begin with 10 segments is at most 10 % above that under"
            " drop-tail.",
            _over_reference("pages, mean time", kit.of_source("short", "mean"), "burst-2", high=10),
        ),
    ]
    return [claim for claim in stated if claim is not None]


def _each(
    labels: Sequence[str], number: str, place: str, gist: str, predicate: Callable[[str], Predicate]
) -> Expectation | None:
    """Claim something of each of some schemes; of none there is no claim."""
    if not labels:
        return None
    return Expectation(
        id=f"RFC7928-{number}", place=place, gist=gist, predicate=All(parts=tuple(map(predicate, labels)))
    )


def _over_reference(
    what: str, measure: Measure, scenario: str, *, low: float = float("-inf"), high: float = float("inf")
) -> Callable[[str], Predicate]:
    return lambda label: Raises(
        what=what,
        measure=measure,
        scheme=f"{scenario}/{label}",
        over=f"{scenario}/{REFERENCE.label}",
        low_percent=low,
        high_percent=high,
    )


_AROUND_TARGET_MS = {"codel": (0.0, 2 * 5.0), "pie": (15.0 / 2, 2 * 15.0)}


def _near_target(level: str, label: str) -> Predicate:
    low, high = _AROUND_TARGET_MS[label]
    return Between(what="queueing delay, ms", measure=measures.delay_ms, scheme=f"{level}/{label}", low=low, high=high)


def _tcp_beside_udp(label: str, *, low: float = float("-inf"), high: float = float("inf")) -> Predicate:
    return Between(
        what="NewReno's goodput, Mbit/s",
        measure=kit.of_source("long", "goodput_mbps"),
        scheme=f"udp-tcp/{label}",
        low=low,
        high=high,
    )


def _with_ecn(label: str) -> Predicate:
    one, other = f"medium-ecn/{label}", f"medium/{label}"
    return All(
        parts=(
            Between(what="loss, %", measure=kit.data_loss_percent, scheme=one, high=0.05),
            Raises(what="goodput", measure=kit.goodput_mbps, scheme=one, over=other, low_percent=-2),
        )
    )
