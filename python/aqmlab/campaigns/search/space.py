"""Spaces of a discipline's parameters as typed: ``q_ref=5..300,target=1 ms..50 ms,max_p``.

A point of a space is a share of each range, from 0 to 1, so that searching and sampling are independent of units and
scales.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain

from aqmlab._core import SpecError
from aqmlab.campaigns.axes import Span, Value
from aqmlab.disciplines.catalogue import Discipline, Parameter, nearest
from aqmlab.disciplines.custom import registry
from aqmlab.spec import schemes
from aqmlab.spec.schemes import Scheme

_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z/]*)"

_WIDE = 10
"""The smallest ratio of the ends of a range with a logarithmic scale. A parameter without a range varies from its
default divided by this number to its default times this number."""

Space = Mapping[str, Span]
"""The ranges by the names of the parameters."""


def read(scheme: Scheme, text: str) -> Space:
    """Parse the varied parameters of a scheme.

    Raises
    ------
    SpecError
        When the discipline has no such parameter, or its range is invalid.
    """
    discipline = registry.discipline(scheme.queue.discipline)
    space: dict[str, Span] = {}
    for part in text.split(","):
        parameter, equals, span = (each.strip() for each in part.partition("="))
        if parameter in space:
            raise SpecError(f"over: {parameter} is given twice")
        declared = _declared(discipline, parameter)
        space[parameter] = _span(declared, span) if equals else _around_default(declared)
    return space


def scheme_at(scheme: Scheme, space: Space, point: Sequence[float]) -> str:
    """Return the scheme at a point of the space, as it would be typed."""
    values: dict[str, Value] = {name: span.at(share) for (name, span), share in zip(space.items(), point, strict=True)}
    kept = {name: value for name, value in scheme.queue.parameters.items() if name not in values}
    if scheme.ecn is not None:
        kept["ecn"] = scheme.ecn
    assignments = (f"{name}={schemes.text_of(value)}" for name, value in chain(values.items(), kept.items()))
    return f"{scheme.queue.discipline}:{','.join(assignments)}"


def default_in(scheme: Scheme, space: Space) -> list[float] | None:
    """Return the point of the scheme itself in the space; ``None`` if it is outside."""
    given = scheme.queue
    declared = {each.name: each.default for each in registry.discipline(given.discipline).parameters}
    point = []
    for name, span in space.items():
        found = re.match(_NUMBER, str(given.parameters.get(name, declared[name])))
        share = span.share(float(found[1])) if found and found[2] == (span.unit or "") else None
        if share is None:
            return None
        point.append(share)
    return point


def _declared(discipline: Discipline, name: str) -> Parameter:
    for parameter in discipline.parameters:
        if parameter.name == name:
            return parameter
    known = [parameter.name for parameter in discipline.parameters]
    raise SpecError(
        f"over: {discipline.name} has no parameter {name!r}{nearest(name, known)}; it has {', '.join(known)}"
    )


def _span(parameter: Parameter, text: str) -> Span:
    found = re.fullmatch(rf"{_NUMBER}\s*\.\.\s*{_NUMBER}", text)
    if found is None:
        raise SpecError(f"over: write {parameter.name}=5..300 or {parameter.name}=1 ms..50 ms, got {text!r}")
    low, unit_low, high, unit = found.groups()
    if unit_low not in ("", unit):
        raise SpecError(f"over: {parameter.name}: both ends must have the same unit, got {text!r}")
    return _scheme_from(parameter, float(low), float(high), unit)


def _around_default(parameter: Parameter) -> Span:
    found = re.fullmatch(_NUMBER, parameter.default)
    if found is None or float(found[1]) <= 0:
        example = f"{parameter.name}=FROM..TO"
        raise SpecError(f"over: {parameter.name} has no number as default, {parameter.default!r}: write {example}")
    default = float(found[1])
    low, high = default / _WIDE, default * _WIDE
    for bound in ("minimum", "maximum"):
        limit = parameter.schema.get(bound)
        if isinstance(limit, (int, float)):
            low, high = (max(low, limit), high) if bound == "minimum" else (low, min(high, limit))
    return _scheme_from(parameter, low, high, found[2])


def _scheme_from(parameter: Parameter, low: float, high: float, unit: str) -> Span:
    if math.isinf(low) or math.isinf(high):
        raise SpecError(f"over: {parameter.name}: both ends must be finite, got {low:g}..{high:g}")
    if not low < high:
        raise SpecError(f"over: {parameter.name}: the first end must be less than the second, got {low:g}..{high:g}")
    scale = "log" if low > 0 and high / low >= _WIDE else "linear"
    whole = parameter.schema.get("type") == "integer"
    return Span(start=low, to=high, scale=scale, whole=whole, unit=unit or None)
