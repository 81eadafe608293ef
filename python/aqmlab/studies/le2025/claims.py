"""Claims of the study: the words of ``study.toml``."""

from __future__ import annotations

from collections.abc import Iterable

from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.quantities import Column
from aqmlab.studies.kit.claims.written import Vocabulary, reviewed_claims
from aqmlab.studies.kit.measures import throughput_mbps
from aqmlab.studies.kit.study import description
from aqmlab.studies.le2025.schemes import (
    CONGESTED,
    CONGESTIBLE,
    FQ_CODEL,
    L4S,
    NOW,
    OF_TODAY,
    THEN,
    StudyLink,
    StudyScheme,
    point,
)


def page_load_s(result: Result) -> float:
    """Return the median page load time, in seconds."""
    return float(result.summary["pages"]["load_s_p50"])


PAGE = Column(what="median page load, s", measure=page_load_s)
MBPS = Column(what="throughput, Mbit/s", measure=throughput_mbps)


def _points(loads: Iterable[int], link: StudyLink) -> list[str]:
    return [point(load, link) for load in loads]


def _labels(schemes: Iterable[StudyScheme]) -> list[str]:
    return [scheme.label for scheme in schemes]


CLAIMS = reviewed_claims(
    description(__package__).claim,
    Vocabulary(
        columns=(PAGE, MBPS),
        joint=" at ",
        lists={
            "congested": _points(CONGESTED, THEN),
            "below the knee": _points((load for load in THEN.loads if load not in CONGESTED), THEN),
            "105 % on both links": [point(105, link) for link in (THEN, NOW)],
            "every scheme": _labels(CONGESTIBLE),
            "of today": _labels(OF_TODAY),
            "others of today": _labels(scheme for scheme in (*OF_TODAY, L4S) if scheme != FQ_CODEL[0]),
        },
    ),
)
