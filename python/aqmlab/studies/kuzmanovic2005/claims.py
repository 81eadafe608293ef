"""Claims of Kuzmanovic (2005): the words of ``study.toml``, and the parts that no sentence expresses."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files

from aqmlab.studies.kit.claims.builders import more
from aqmlab.studies.kit.claims.predicates import MUCH_BETTER, Greater, InRange, Part, approximately
from aqmlab.studies.kit.claims.quantities import AREA, Column, PrintedTables, Quantity, difference, quantity
from aqmlab.studies.kit.claims.written import Vocabulary, reviewed_claims
from aqmlab.studies.kit.study import description
from aqmlab.studies.kuzmanovic2005 import measures
from aqmlab.studies.kuzmanovic2005.names import LAWS, LENGTHS, LOADS, scheme

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


def printed() -> PrintedTables:
    """Return the rows of table 1 in our copy, and the two throughputs that section 5.2.1 names."""
    rows = csv.DictReader(files(__package__).joinpath("published.csv").read_text(encoding="utf-8").splitlines())
    return {
        scheme(row["scheme"], row["form"], int(row["load_percent"])): {MBPS.name: float(row["throughput_percent"])}
        for row in rows
    }


def _gap(law: str, form: str, over: str, load: int, other: str = "") -> Quantity:
    """Return the mean distance of a law's curve above that of another signal, or of another law."""
    one, than = scheme(law, form, load), scheme(other or law, over, load)
    return difference(quantity(AREA, one), quantity(AREA, than))


_FURTHER: dict[str, Sequence[Part]] = {
    "kuzmanovic2005-8": [
        part
        for load in LOADS
        for column in (_QUEUE_SAMPLED, _AFTER_6S)
        for part in more(scheme("RED*", "ECN", load), scheme("RED", "ECN", load), column=column)
    ],
    "kuzmanovic2005-2": [
        Greater(one=_gap("PI", "ECN+", "ECN", load), than=_gap("PI", "ECN", "drop", load)) for load in LOADS
    ],
    "kuzmanovic2005-10": [
        InRange(
            value=difference(_gap("PI", "ECN", "ECN", load, law), _gap("PI", "ECN+", "ECN+", load, law)),
            low=MUCH_BETTER,
        )
        for law in LAWS
        if law != "PI"
        for load in LOADS
    ],
    "kuzmanovic2005-13": [
        Greater(one=_gap("RED*", "ECN+", "ECN", load), than=_gap(law, "ECN+", "ECN", load))
        for law in LAWS
        if law != "RED*"
        for load in LOADS
    ],
    "kuzmanovic2005-20": [
        approximately(quantity(MBPS, run), columns[MBPS.name])
        for run, columns in printed().items()
        if run.startswith(("PI ECN", "RED ECN"))
    ],
}

CLAIMS = reviewed_claims(
    description(__package__).claim,
    Vocabulary(columns=(MBPS, _QUEUE, _QUEUE_MS, _OVER_MODEL), lists={"lengths": LENGTHS}),
    _FURTHER,
)
