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

_WIDE_RATIO = 10
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
        parameter, equals, span = (piece.strip() for piece in part.partition("="))
        if parameter in space:
            raise SpecError(f"over: {parameter} is given twice")
        declared = _declared(discipline, parameter)
        space[parameter] = _span(declared, span) if equals else _around_default(declared)
    return space


def scheme_at(scheme: Scheme, space: Space, point: Sequence[float]) -> str:
    """Return the scheme at a point of the space, as it would be typed."""
    values: dict[str, Value] = {
        name: span.value_at(share) for (name, span), share in zip(space.items(), point, strict=True)
    }
    fixed = {name: value for name, value in scheme.queue.parameters.items() if name not in values}
    if scheme.ecn is not None:
        fixed["ecn"] = scheme.ecn
    assignments = (f"{name}={schemes.text_of(value)}" for name, value in chain(values.items(), fixed.items()))
    return f"{scheme.queue.discipline}:{','.join(assignments)}"


def default_in(scheme: Scheme, space: Space) -> list[float] | None:
    """Return the point of the scheme itself in the space; ``None`` if it is outside."""
    queue = scheme.queue
    declared = {parameter.name: parameter.default for parameter in registry.discipline(queue.discipline).parameters}
    point = []
    for name, span in space.items():
        match = re.match(_NUMBER, str(queue.parameters.get(name, declared[name])))
        share = span.share_of(float(match[1])) if match and match[2] == (span.unit or "") else None
        if share is None:
            return None
        point.append(share)
    return point


def _declared(discipline: Discipline, name: str) -> Parameter:
    for parameter in discipline.parameters:
        if parameter.name == name:
            return parameter
    names = [parameter.name for parameter in discipline.parameters]
    raise SpecError(
        f"over: {discipline.name} has no parameter {name!r}{nearest(name, names)}; it has {', '.join(names)}"
    )


def _span(parameter: Parameter, text: str) -> Span:
    match = re.fullmatch(rf"{_NUMBER}\s*\.\.\s*{_NUMBER}", text)
    if match is None:
        raise SpecError(f"over: write {parameter.name}=5..300 or {parameter.name}=1 ms..50 ms, got {text!r}")
    low, unit_low, high, unit = match.groups()
    if unit_low not in ("", unit):
        raise SpecError(f"over: {parameter.name}: both ends must have the same unit, got {text!r}")
    return _make_span(parameter, float(low), float(high), unit)


def _around_default(parameter: Parameter) -> Span:
    match = re.fullmatch(_NUMBER, parameter.default)
    if match is None or float(match[1]) <= 0:
        example = f"{parameter.name}=FROM..TO"
        raise SpecError(f"over: {parameter.name} has no number as default, {parameter.default!r}: write {example}")
    default = float(match[1])
    low, high = default / _WIDE_RATIO, default * _WIDE_RATIO
    for bound in ("minimum", "maximum"):
        limit = parameter.schema.get(bound)
        if isinstance(limit, (int, float)):
            low, high = (max(low, limit), high) if bound == "minimum" else (low, min(high, limit))
    return _make_span(parameter, low, high, match[2])


def _make_span(parameter: Parameter, low: float, high: float, unit: str) -> Span:
    if math.isinf(low) or math.isinf(high):
        raise SpecError(f"over: {parameter.name}: both ends must be finite, got {low:g}..{high:g}")
    if not low < high:
        raise SpecError(f"over: {parameter.name}: the first end must be less than the second, got {low:g}..{high:g}")
    scale = "log" if low > 0 and high / low >= _WIDE_RATIO else "linear"
    whole = parameter.schema.get("type") == "integer"
    return Span(start=low, to=high, scale=scale, whole=whole, unit=unit or None)
