"""Claims of the RFCs on queue management about any discipline, in the RFCs' words.

The phrases are those of the abstracts of RFC 8290 (1, 6, 8), 8033 (2 to 4), 7567 (5) and 8087 (7).
"""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.spec.schemes import Scheme
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.claims.builders import fewer, little_change, more
from aqmlab.studies.kit.claims.predicates import CLOSE, InRange, approximately
from aqmlab.studies.kit.claims.quantities import Column, change_percent, quantity
from aqmlab.studies.kit.claims.review import Parts, ReviewedClaim, reviewed_claim
from aqmlab.studies.rfc7928 import measures
from aqmlab.studies.rfc7928.schemes import REFERENCE, can_mark

_DELAY = Column(what="queueing delay, ms", measure=measures.delay_ms)
_GOODPUT = Column(what="goodput, Mbit/s", measure=kit.goodput_mbps)
_LOSS = Column(what="loss, %", measure=kit.data_loss_percent)
_VOICE = Column(what="voice, p99 of delay, ms", measure=kit.of_source("voice", "delay_ms_p99"))
_NEWRENO = Column(what="NewReno's goodput, Mbit/s", measure=kit.of_source("long", "goodput_mbps"))
_PAGES = Column(what="pages, mean ms", measure=kit.of_source("short", "mean"))

_TARGET_MS = {"codel": 5.0, "pie": 15.0}
_FULL_BUFFER_MS = 100.0
"""Length of the axis of delay: the delay of a full buffer."""


def reviewed_claims(schemes: Sequence[Scheme]) -> list[ReviewedClaim]:
    """Return the claims about these schemes; those on named disciplines only if they are among them."""
    others = [scheme for scheme in schemes if scheme.label != REFERENCE.label]
    labels = [scheme.label for scheme in others]
    marking = [scheme.label for scheme in others if can_mark(scheme)]
    fifo = [label for label in labels if label in _TARGET_MS]
    fair = [label for label in labels if label == "fq_codel"]
    claims: list[tuple[str, str, list[Parts]]] = [
        ("1", "by keeping queue lengths short", _less_than_drop_tail(_DELAY, "medium", labels)),
        (
            "2",
            "ensure low latency and achieve high link utilization",
            [
                InRange(value=change_percent(_GOODPUT, f"medium/{label}", f"medium/{REFERENCE.label}"), low=-CLOSE)
                for label in labels
            ],
        ),
        (
            "3",
            "effectively control the average queuing latency to a target value",
            [
                approximately(quantity(_DELAY, f"{level}/{label}"), _TARGET_MS[label], axis=_FULL_BUFFER_MS)
                for label in fifo
                for level in ("mild", "medium", "heavy")
            ],
        ),
        (
            "4",
            "high latency and latency variation degrade application performance",
            _less_than_drop_tail(_VOICE, "mix-3", labels),
        ),
        (
            "5",
            "flows that are not sufficiently responsive to congestion notification",
            [
                InRange(value=change_percent(_NEWRENO, f"udp-tcp/{label}", f"alone/{label}"), high=-CLOSE)
                for label in fifo
            ],
        ),
        (
            "6",
            "provides isolation for low-rate traffic",
            [little_change(f"udp-tcp/{label}", f"alone/{label}", column=_NEWRENO) for label in fair],
        ),
        (
            "7",
            "increased throughput, reduced delay, and other benefits",
            [
                relation(f"medium-ecn/{label}", f"medium/{label}", column=column)
                for label in marking
                for relation, column in ((more, _GOODPUT), (fewer, _LOSS))
            ],
        ),
        (
            "8",
            "reduces the impact of head-of-line blocking from bursty traffic",
            _less_than_drop_tail(_PAGES, "burst-2", labels),
        ),
    ]
    return [reviewed_claim(f"RFC7928-{number}", phrase, parts) for number, phrase, parts in claims if parts]


def _less_than_drop_tail(column: Column, scenario: str, labels: Sequence[str]) -> list[Parts]:
    """Claim that each scheme has less of a column than drop-tail."""
    return [fewer(f"{scenario}/{label}", f"{scenario}/{REFERENCE.label}", column=column) for label in labels]
