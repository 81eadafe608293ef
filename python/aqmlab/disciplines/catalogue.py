"""The queue disciplines of the engine, with every parameter's meaning, unit, default and source."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from aqmlab._core import catalogue


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a queue discipline; ``default`` is text, because it may depend on other parameters."""

    name: str
    unit: str
    default: str
    meaning: str
    source: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    """The JSON Schema of its values: type, range or choices, default, unit."""
    tc: Mapping[str, Any] | None = None
    """Its words in Linux's ``tc``, by their kind (``TcWords`` in the engine), if it has any."""


@dataclass(frozen=True, kw_only=True)
class Tc:
    """A discipline of Linux in ``tc``'s words."""

    names: tuple[str, ...]
    """Its name, or two: with limits in packets and in bytes."""
    ecn: bool | None
    """True if it marks without the word ``ecn``; ``None`` if it has no such word."""
    values: tuple[tuple[str, str], ...]
    """Linux's values of parameters, where they differ from the defaults here."""
    accepted: tuple[str, ...]
    """Words that are true of this discipline."""
    refused: tuple[tuple[str, str], ...]
    """Words that are not modelled, and the reason."""


@dataclass(frozen=True, kw_only=True)
class Discipline:
    """One queue discipline."""

    name: str
    family: str
    decides_at: str
    """The time of its decisions: when packets arrive, ``enqueue``, or when they leave, ``dequeue``."""
    summary: str
    parameters: tuple[Parameter, ...]
    page: str
    """Its page in Markdown: idea, equations, differences between descriptions, validation, references."""
    classes: tuple[str, ...] = ()
    """The names of the classes of packets that it treats separately."""
    ecn: str = "marks"
    """Its treatment of ECN-capable packets: it ``marks`` them where it would drop others, ``ignores`` ECN, or
    ``requires`` it."""
    tc: Tc | None = None
    """The words of Linux's ``tc`` for it, if it has any."""

    @property
    def keys(self) -> tuple[Parameter, ...]:
        """The keys of its table in a spec: its parameters and, if it marks, :data:`NOECN`."""
        return (*self.parameters, *([_NOECN] if self.ecn == "marks" else []))


NOECN = "noecn"
"""The key for a discipline to drop packets instead of marking them, as in ``tc``. It belongs to the queue."""

_NOECN = Parameter(
    name=NOECN, unit="", default="false", meaning="Drop packets instead of marking them, as in `tc`.", source="tc(8)"
)


@cache
def disciplines() -> dict[str, Discipline]:
    """Return all queue disciplines by name, in the engine's order."""
    entries = json.loads(catalogue())
    return {
        entry["name"]: Discipline(
            **{
                **entry,
                "classes": tuple(entry["classes"]),
                "tc": _tc(entry["tc"]),
                "parameters": tuple(Parameter(**parameter) for parameter in entry["parameters"]),
            }
        )
        for entry in entries
    }


def _tc(words: Mapping[str, Any] | None) -> Tc | None:
    if words is None:
        return None
    pairs = {key: tuple(map(tuple, words[key])) for key in ("values", "refused")}
    return Tc(names=tuple(words["names"]), ecn=words["ecn"], accepted=tuple(words["accepted"]), **pairs)


def discipline(name: str) -> Discipline:
    """Return the discipline of this name, or raise a ``ValueError`` that lists all names."""
    entries = disciplines()
    if name not in entries:
        raise ValueError(f"no discipline is called {name!r}{hint(name, entries)}; there are {', '.join(entries)}")
    return entries[name]


def check_parameters(entry: Discipline, parameters: Mapping[str, Any]) -> None:
    """Raise a ``ValueError`` when the discipline has no such parameter, or a value is infinite or NaN."""
    names = [parameter.name for parameter in entry.keys]
    for name, value in parameters.items():
        # The engine explains why a discipline has no noecn.
        if name not in (*names, NOECN):
            raise ValueError(f"{entry.name} has no parameter {name!r}{nearest(name, names)}; it has {', '.join(names)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value}")


def hint(name: str, names: Iterable[str]) -> str:
    """Return a hint in parentheses about the name of an unknown discipline; an empty text if there is none.

    Parameters
    ----------
    name
        The unknown name.
    names
        The names to choose from.
    """
    if name in _OTHER_NAMES:
        return f" ({_OTHER_NAMES[name]})"
    if "/" in name or "." in name:
        return " (the name of a spec must end in .toml)"
    return nearest(name, names)


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the most similar known name as a question in parentheses; an empty text if none is similar."""
    similar = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {similar[0]!r}?)" if similar else ""


_FIFO = "did you mean 'droptail'?"
_SHAPER = "a shaper is a link: write link.rate"
_OTHER_NAMES = {
    "fifo": _FIFO,
    "pfifo": _FIFO,
    "bfifo": _FIFO,
    "pfifo_fast": _FIFO,
    "tbf": _SHAPER,
    "htb": _SHAPER,
    "cake_mq": "it is a CAKE for each transmit queue of the device: write cake:queues=N",
    "netem": "its delay is link.delay",
    "l4s": "did you mean 'dualpi2'?",
}
"""Hints for names from ``tc`` that aqmlab calls differently, or that are not disciplines."""
