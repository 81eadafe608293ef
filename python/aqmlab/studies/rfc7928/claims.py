"""Claims of the RFCs on queue management about any discipline: the words of ``study.toml``."""

from __future__ import annotations

from collections.abc import Sequence

from aqmlab.spec.schemes import Scheme
from aqmlab.studies.kit import measures as kit
from aqmlab.studies.kit.claims import written
from aqmlab.studies.kit.claims.quantities import Column
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.study import description
from aqmlab.studies.rfc7928 import measures
from aqmlab.studies.rfc7928.schemes import REFERENCE, can_mark

_DELAY = Column(what="queueing delay, ms", measure=measures.delay_ms)
_GOODPUT = Column(what="goodput, Mbit/s", measure=kit.goodput_mbps)
_LOSS = Column(what="loss, %", measure=kit.data_loss_percent)
_VOICE = Column(what="voice, p99 of delay, ms", measure=kit.of_source("voice", "delay_ms_p99"))
_NEWRENO = Column(what="NewReno's goodput, Mbit/s", measure=kit.of_source("long", "goodput_mbps"))
_PAGES = Column(what="pages, mean ms", measure=kit.of_source("short", "mean"))


def reviewed_claims(schemes: Sequence[Scheme]) -> list[ReviewedClaim]:
    """Return the claims about these schemes; those on named disciplines only if they are among them."""
    others = [scheme for scheme in schemes if scheme.label != REFERENCE.label]
    labels = [scheme.label for scheme in others]
    words = written.Vocabulary(
        columns=(_DELAY, _GOODPUT, _LOSS, _VOICE, _NEWRENO, _PAGES),
        joint="/",
        lists={
            "disciplines": labels,
            "those that mark": [scheme.label for scheme in others if can_mark(scheme)],
            **{f"{name}, if chosen": [name] * (name in labels) for name in ("codel", "pie", "fq_codel")},
        },
    )
    claims = {id_: claim for id_, claim in description(__package__).claim.items() if claim.written(words)}
    return list(written.reviewed_claims(claims, words))
