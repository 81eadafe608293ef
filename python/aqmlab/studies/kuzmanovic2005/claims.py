"""Claims of Kuzmanovic (2005).

The paper's throughputs are percent of the link, so that "1 % to 5 %" are points; the first reading took them as
relative.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from importlib.resources import files

from aqmlab.studies.kit.claims.builders import better, close, more, much_better, within
from aqmlab.studies.kit.claims.predicates import (
    APPROXIMATELY,
    CLOSE,
    MUCH_BETTER,
    SAME,
    Greater,
    InRange,
    approximately,
)
from aqmlab.studies.kit.claims.quantities import AREA, Column, PrintedTables, Quantity, difference, quantity
from aqmlab.studies.kit.claims.review import ReviewedClaim, added_claim, reviewed_claim
from aqmlab.studies.kuzmanovic2005 import measures
from aqmlab.studies.kuzmanovic2005.names import (
    FULL_BURSTS,
    LAWS,
    LENGTHS,
    LOADS,
    equal_flows,
    scheme,
    threshold,
    uncongested,
)

MBPS = Column(what="throughput, % of the link", measure=measures.throughput_mbps, name="throughput_percent", digits=2)
"""The link has 100 Mbit/s."""
_QUEUE = Column(what="mean queue, packets", measure=measures.queue_packets)
_QUEUE_SAMPLED = Column(what="mean queue, packets", measure=measures.queue_packets_sampled)
_QUEUE_MS = Column(what="mean queue, ms", measure=measures.queue_ms)
_OVER_MODEL = Column(
    what="simulated less model, packets",
    measure=lambda result: measures.queue_packets(result) - measures.model_packets(result),
)
_AFTER_6S = Column(what="completed after 6 s, %", measure=lambda result: 100 * measures.beyond_6s(result))

_FIGURE_7_PACKETS = 50.0
"""Length of its axis of the queue."""

_OTHERS = tuple(law for law in LAWS if law != "PI")
_MODERATE = tuple(law for law in LAWS if law != "RED*")

_plus = partial(scheme, form="ECN+")
_ecn = partial(scheme, form="ECN")
_drop = partial(scheme, form="drop")


def printed() -> PrintedTables:
    """Return the rows of table 1 in our copy, and the two throughputs that section 5.2.1 names."""
    rows = csv.DictReader(files(__package__).joinpath("published.csv").read_text(encoding="utf-8").splitlines())
    return {
        scheme(row["scheme"], row["form"], int(row["load_percent"])): {MBPS.name: float(row["throughput_percent"])}
        for row in rows
    }


def _carries_more(law: str, load: int) -> Quantity:
    return difference(quantity(MBPS, _plus(law, load=load)), quantity(MBPS, _ecn(law, load=load)))


def _gap(one: str, other: str) -> Quantity:
    return difference(quantity(AREA, one), quantity(AREA, other))


CLAIMS: Sequence[ReviewedClaim] = (
    reviewed_claim(
        "kuzmanovic2005-1",
        "ECN does improve the performance",
        (better(_ecn("PI", load=load), _drop("PI", load=load)) for load in LOADS),
    ),
    reviewed_claim(
        "kuzmanovic2005-2",
        "the impact of ECN+ is even more profound",
        (better(_plus("PI", load=load), _ecn("PI", load=load)) for load in LOADS),
        (
            Greater(
                one=_gap(_plus("PI", load=load), _ecn("PI", load=load)),
                than=_gap(_ecn("PI", load=load), _drop("PI", load=load)),
            )
            for load in LOADS
        ),
    ),
    reviewed_claim(
        "kuzmanovic2005-3",
        "response times are very close to the uncongested scenario",
        (close(_plus("PI", load=load), uncongested(load)) for load in LOADS),
    ),
    reviewed_claim(
        "kuzmanovic2005-4",
        "indeed significant in the presence of all AQM schemes",
        (much_better(_plus(law, load=load), _ecn(law, load=load)) for law in LAWS for load in LOADS),
    ),
    reviewed_claim(
        "kuzmanovic2005-5",
        "more moderate for PI, RED, and REM, where they vary from",
        (InRange(value=_carries_more(law, load), low=1, high=5) for law in _MODERATE for load in LOADS),
    ),
    reviewed_claim(
        "kuzmanovic2005-6",
        "the impact on throughput is systematically positive",
        (more(_plus(law, load=load), _ecn(law, load=load), column=MBPS) for law in LAWS for load in LOADS),
    ),
    # Wrong: points, not percent of the other.
    reviewed_claim(
        "kuzmanovic2005-7",
        "ranges from 6%, in the light congestion scenario, to 20%",
        (
            approximately(_carries_more("RED*", load), points, limit=SAME)
            for load, points in zip(LOADS, (6, 20), strict=True)
        ),
    ),
    reviewed_claim(
        "kuzmanovic2005-8",
        "operating point moves closer; SYN ACK packets are often dropped",
        (
            more(_ecn("RED*", load=load), _ecn("RED", load=load), column=column)
            for load in LOADS
            for column in (_QUEUE_SAMPLED, _AFTER_6S)
        ),
    ),
    reviewed_claim(
        "kuzmanovic2005-9",
        "PI has the best performance",
        (better(_plus("PI", load=load), *(_plus(law, load=load) for law in _OTHERS)) for load in LOADS),
    ),
    reviewed_claim(
        "kuzmanovic2005-10",
        "the difference between PI and other schemes is significantly reduced",
        (
            InRange(
                value=difference(
                    _gap(_ecn("PI", load=load), _ecn(law, load=load)),
                    _gap(_plus("PI", load=load), _plus(law, load=load)),
                ),
                low=MUCH_BETTER,
            )
            for law in _OTHERS
            for load in LOADS
        ),
    ),
    reviewed_claim(
        "kuzmanovic2005-11",
        "profile is almost identical to REM",
        (close(_plus("RED*", load=load), _plus("REM", load=load)) for load in LOADS),
    ),
    reviewed_claim(
        "kuzmanovic2005-12",
        "outperforms RED",
        (better(_plus("RED*", load=load), _plus("RED", load=load)) for load in LOADS),
    ),
    reviewed_claim(
        "kuzmanovic2005-13",
        "performance the most",
        (
            Greater(
                one=_gap(_plus("RED*", load=load), _ecn("RED*", load=load)),
                than=_gap(_plus(law, load=load), _ecn(law, load=load)),
            )
            for law in _MODERATE
            for load in LOADS
        ),
    ),
    reviewed_claim(
        "kuzmanovic2005-14",
        "has a better response-time profile than the dropping PI",
        better(threshold(90), _drop("PI", load=90)),
    ),
    reviewed_claim(
        "kuzmanovic2005-15",
        "throughputs of the two schemes are approximately the same",
        approximately(
            difference(quantity(MBPS, threshold(90)), quantity(MBPS, _drop("PI", load=90))),
            0,
            limit=APPROXIMATELY,
        ),
    ),
    reviewed_claim(
        "kuzmanovic2005-16",
        "illustrate a good match",
        (
            approximately(quantity(_OVER_MODEL, equal_flows(length)), 0, limit=CLOSE, axis=_FIGURE_7_PACKETS)
            for length in LENGTHS
        ),
    ),
    reviewed_claim(
        "kuzmanovic2005-17",
        "peaks when the probability of large bursts is highest",
        (more(equal_flows(length), equal_flows(length + 2), column=_QUEUE) for length in FULL_BURSTS),
    ),
    reviewed_claim(
        "kuzmanovic2005-18",
        "may often be below the level targeted by AQM schemes",
        (within(_QUEUE_MS, equal_flows(length), high=5) for length in LENGTHS),
    ),
    added_claim(
        "kuzmanovic2005-19",
        "Section 5.2.2, figure 7",
        "flows of 7 packets, the mean of the web's, make a mean queue of some 5 packets at 80 %",
        "would have only a moderate (5 packets) average queue length",
        approximately(quantity(_QUEUE, equal_flows(7)), 5, axis=_FIGURE_7_PACKETS),
    ),
    added_claim(
        "kuzmanovic2005-20",
        "Section 4.4, table 1",
        "under PI and RED ECN+ carries what the table says, approximately",
        "summarizes the throughput results for ECN+ and ECN",
        (
            approximately(quantity(MBPS, run), columns[MBPS.name])
            for run, columns in printed().items()
            if run.startswith(("PI ECN", "RED ECN"))
        ),
    ),
)
