"""Disciplines that RFC 7928's scenarios characterise by default, and variants of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import registry
from aqmlab.spec import schemes
from aqmlab.spec.experiment import QueueSpec
from aqmlab.spec.schemes import Scheme

REFERENCE = schemes.parse("droptail")
"""The scheme that all others are compared with; always among the runs."""

CHOSEN = tuple(
    map(
        schemes.parse,
        (
            "red:min_th=7,max_th=21",
            "ared:mean_packet=1500 B",
            "codel",
            "pie",
            "fq_codel",
        ),
    )
)
"""One of each kind that the RFCs on queue management discuss. RED's thresholds are a twelfth and a quarter of the
buffer (Kwon & Fahmy 2003); Adaptive RED derives its own from the rate in full packets, which long flows send; the
others need no parameter, as their RFCs say."""

FACTORS = (0.25, 0.5, 2.0, 4.0)
"""Factors of the main parameter in section 8.3's sweep, our choice; 1 is the scenario itself."""

_MAIN = (
    ("target",),
    ("min_th", "max_th"),
    ("threshold",),
    ("target_delay",),
    ("d_target",),
    ("qdelay_ref",),
    ("q_ref",),
    ("limit",),
)
"""Parameters that set the length of the queue, in the order of preference: a target of delay or length, thresholds that
are not derived from a target, or the limit."""


def with_reference(given: Sequence[Scheme]) -> tuple[Scheme, ...]:
    """Return drop-tail and the given schemes, each once."""
    return tuple({scheme.label: scheme for scheme in (REFERENCE, *given)}.values())


def can_mark(scheme: Scheme) -> bool:
    """Return whether ECN-capable hosts make another experiment: not under drop-tail, nor if the scheme sets ECN."""
    tail = REFERENCE.queue.discipline
    return (
        scheme.ecn is None and registry.discipline(scheme.queue.discipline).family != registry.discipline(tail).family
    )


def can_be_in_series(scheme: Scheme) -> bool:
    """Return whether the engine can run the scheme at several links: custom laws cannot."""
    return not registry.is_custom(scheme.queue.discipline)


def with_room(scheme: Scheme, packets: int) -> Scheme:
    """Return the scheme with a buffer in packets, unless it sets its own."""
    return _with(scheme, {"limit": f"{packets} packets", **scheme.queue.parameters})


def with_marks(scheme: Scheme) -> Scheme:
    """Return the scheme with hosts that negotiate RFC 3168's ECN."""
    return replace(scheme, ecn=True)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A scheme with its main parameter multiplied."""

    factor: float
    parameter: str
    """The multiplied parameter."""
    value: str
    """Its value as text."""
    scheme: Scheme


def variants(scheme: Scheme, room: int) -> list[Variant]:
    """Return the scheme with its main parameter multiplied by each of the factors; empty without such a parameter."""
    scheme = with_room(scheme, room)
    values = _main_values(scheme)
    found = []
    for factor in FACTORS if values else ():
        scaled = {name: _times(value, factor) for name, value in values.items()}
        name, value = next(iter(scaled.items()))
        found.append(Variant(factor=factor, parameter=name, value=str(value), scheme=_with(scheme, scaled)))
    return found


def _main_values(scheme: Scheme) -> dict[str, int | float | str]:
    """Return the main parameters with the scheme's values, or with their defaults where those are values."""
    known: dict[str, Any] = {each.name: each.default for each in _parameters(scheme)}
    given = {**known, **scheme.queue.parameters}
    for names in _MAIN:
        values = {name: given[name] for name in names if name in given and _is_value(given[name])}
        if values:
            return values
    return {}


def _parameters(scheme: Scheme) -> Sequence[catalogue.Parameter]:
    return registry.discipline(scheme.queue.discipline).parameters


def _is_value(value: object) -> bool:
    return not isinstance(value, str) or value[:1].isdigit()


def _times(value: float | str, factor: float) -> int | float | str:
    """Multiply a number, with or without a unit; packets and bytes stay whole and above 0."""
    if isinstance(value, str):
        number, _, unit = value.partition(" ")
        whole = number.isdigit() and unit in ("", "packets", "B")
        scaled = _times(int(number) if whole else float(number), factor)
        return f"{scaled:g} {unit}" if unit else scaled
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def _with(scheme: Scheme, parameters: dict[str, Any]) -> Scheme:
    queue = QueueSpec.model_construct(
        discipline=scheme.queue.discipline, parameters={**scheme.queue.parameters, **parameters}
    )
    return replace(scheme, queue=queue)
