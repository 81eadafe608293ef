"""The measures of an evaluation: numbers of a run, and for harm also of the run in which the harmed are alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aqmlab.metrics.metrics import lookup
from aqmlab.results.measures.harm import harm_if_less_is_better, harm_if_more_is_better

Record = Mapping[str, Any]
Read = Callable[[Record, str, Record | None], float | None]
"""Read a measure of a source, or of the link, from a run's record and that of the run with this source alone."""

DATA = 1
"""The direction of data in a scenario: that of downloads to side 0."""


def needs_solo(measure: str) -> bool:
    """Return true if a measure also needs the run with its source alone."""
    return measure.startswith("harm_")


def _of_source(*path: str) -> Read:
    return lambda record, source, _: lookup(source_of(record, source), path)


def _of_link(*path: str) -> Read:
    return lambda record, _source, _solo: lookup(record["directions"][DATA], path)


def source_of(record: Record, name: str) -> Record:
    """Return the numbers of a source."""
    return next(source for source in record["sources"] if source["name"] == name)


def _goodput(record: Record) -> float:
    # That of datagrams, which have no goodput of their own, includes their headers.
    return sum(source["goodput_mbps"] or 0.0 for source in record["sources"])


def _useful(record: Record, _source: str, _solo: Record | None) -> float | None:
    throughput = lookup(record["directions"][DATA], ("throughput_mbps",))
    return min(1.0, _goodput(record) / throughput) if throughput else None


def _efficiency(record: Record, source: str, solo: Record | None) -> float | None:
    useful, utilisation = _useful(record, source, solo), lookup(record["directions"][DATA], ("utilisation",))
    return None if useful is None or utilisation is None else useful * utilisation


def _jain(record: Record, _source: str, _solo: Record | None) -> float | None:
    # Each source of such a scenario has one flow.
    goodputs = [source["goodput_mbps"] for source in record["sources"]]
    squares = sum(goodput**2 for goodput in goodputs)
    return sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else None


def _least_share(record: Record, source: str, _solo: Record | None) -> float | None:
    throughput, flows = lookup(record["directions"][DATA], ("throughput_mbps",)), record["flows"]
    if not throughput:
        return None
    fair = throughput * flows[source] / sum(flows.values())
    return float(source_of(record, source)["goodput_mbps"] / fair)


def _packets(record: Record, source: str, _solo: Record | None) -> float | None:
    return float(source_of(record, source)["packets_sent"] / record["flows"][source])


def _harm_goodput(record: Record, source: str, solo: Record | None) -> float | None:
    return harm_if_more_is_better(*_solo_and_shared(record, source, solo, "goodput_mbps"))


def _harm_response(record: Record, source: str, solo: Record | None) -> float | None:
    return harm_if_less_is_better(*_solo_and_shared(record, source, solo, "response_time_ms", "mean"))


def _solo_and_shared(record: Record, source: str, solo: Record | None, *path: str) -> tuple[float | None, float | None]:
    alone = None if solo is None else lookup(source_of(solo, source), path)
    return alone, lookup(source_of(record, source), path)


READ: Mapping[str, Read] = {
    "harm_goodput": _harm_goodput,
    "harm_response": _harm_response,
    "least_share": _least_share,
    "efficiency": _efficiency,
    "useful": _useful,
    "jain": _jain,
    "queue_delay_p50": _of_link("queue_delay_ms", "p50"),
    "queue_delay_p99": _of_link("queue_delay_ms", "p99"),
    "queue_delay_fast_p99": _of_link("queue_delay_ms", "p99"),
    "loss": _of_link("loss_percent"),
    "policed": lambda record, _source, _solo: lookup(record, ("policed_percent",)),
    "retransmitted": lambda record, _source, _solo: lookup(record, ("retransmit_percent",)),
    "packets": _packets,
    "response_mean": _of_source("response_time_ms", "mean"),
    "completed": _of_source("completed"),
    "mos": _of_source("calls", "mos_mean"),
    "late": _of_source("games", "late_percent"),
    "rebuffering": _of_source("videos", "rebuffering_percent"),
}
"""The measures by their names in the tables."""
