"""The columns of a table with what people experience: one or two numbers of each application, a row for each scheme."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aqmlab.metrics.flows import by_class
from aqmlab.metrics.metrics import lookup
from aqmlab.metrics.numbers import PAGES, QUALITY_NUMBERS, REQUEST_NUMBERS, Number

_SHOWN = {
    PAGES: ("page load p95",),
    "video": ("bitrate", "rebuffering"),
    "call": ("MOS",),
    "video_call": ("in time",),
    "game": ("late",),
}
"""The numbers of each kind of traffic that people judge by. Ours."""

_TRANSFERS = "p50", "goodput"
"""Those of other traffic: the first for requests that complete, the second for endless transfers. Ours."""

_MIN_KINDS = 2
"""The fewest kinds of traffic that people judge, for which there is such a table."""


def numbers(schemes: Sequence[Mapping[str, Any]]) -> list[tuple[str, Number]]:
    """Return the traffic and the number of each column; none where people judge fewer than two kinds of traffic.

    Parameters
    ----------
    schemes
        The records of a comparison. The path of a number begins with the name of its traffic.
    """
    traffic_by_name = {
        name: [by_class(scheme).get(name, {}) for scheme in schemes]
        for name in dict.fromkeys(name for scheme in schemes for name in by_class(scheme))
    }
    kinds = {kind for records in traffic_by_name.values() if (kind := _kind(records)) is not None}
    if len(kinds) < _MIN_KINDS:
        return []
    return [
        (name, number._replace(path=(name, *number.path)))
        for name, records in traffic_by_name.items()
        for number in _numbers(records)
    ]


def _kind(records: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the kind of traffic whose quality people observe, or nothing."""
    for kind, names in _SHOWN.items():
        if _is_measured(QUALITY_NUMBERS[kind][names[0]], records):
            return kind
    return None


def _numbers(records: Sequence[Mapping[str, Any]]) -> Iterator[Number]:
    kind = _kind(records)
    if kind is not None:
        yield from (QUALITY_NUMBERS[kind][name] for name in _SHOWN[kind])
    else:
        candidates = (REQUEST_NUMBERS[name] for name in _TRANSFERS)
        yield from [number for number in candidates if _is_measured(number, records)][:1]


def _is_measured(number: Number, records: Sequence[Mapping[str, Any]]) -> bool:
    return any(lookup(record, number.path) is not None for record in records)
