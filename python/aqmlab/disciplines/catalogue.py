"""The queue disciplines the engine knows, with every parameter's meaning, unit, default and source."""

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
    """One parameter of a queue discipline; ``default`` is text, since it may depend on others."""

    name: str
    unit: str
    default: str
    meaning: str
    source: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    """What may be written for it, as JSON Schema: type, range or choices, default, unit."""


@dataclass(frozen=True, kw_only=True)
class Discipline:
    """One queue discipline."""

    name: str
    family: str
    decides_at: str
    """When it drops and marks: when packets arrive, ``enqueue``, or when they leave, ``dequeue``."""
    summary: str
    parameters: tuple[Parameter, ...]
    page: str
    """Its page in Markdown: idea, equations, where descriptions differ, how it is validated, references."""
    classes: tuple[str, ...] = ()
    """The classes of packets that it treats apart, by name."""
    ecn: str = "marks"
    """What it does with ECN-capable packets: ``marks`` where it would drop others, ``ignores`` that they are, or
    ``requires`` them."""

    @property
    def keys(self) -> tuple[Parameter, ...]:
        """What its table in a spec may have: its parameters, and where it marks :data:`NOECN`."""
        return (*self.parameters, *([_NOECN] if self.ecn == "marks" else []))


NOECN = "noecn"
"""The key of a discipline that drops packets where it would mark them, as in ``tc``. It belongs to the queue."""

_NOECN = Parameter(
    name=NOECN, unit="", default="false", meaning="Drop packets where they would be marked, as in `tc`.", source="tc(8)"
)


@cache
def disciplines() -> dict[str, Discipline]:
    """All queue disciplines by name, in the engine's order."""
    entries = json.loads(catalogue())
    return {
        entry["name"]: Discipline(
            **{
                **entry,
                "classes": tuple(entry["classes"]),
                "parameters": tuple(Parameter(**parameter) for parameter in entry["parameters"]),
            }
        )
        for entry in entries
    }


def discipline(name: str) -> Discipline:
    """Return the discipline of this name, or raise a ``ValueError`` that says which there are."""
    known = disciplines()
    if name not in known:
        raise ValueError(f"no discipline is called {name!r}{hint(name, known)}; there are {', '.join(known)}")
    return known[name]


def check_parameters(of: Discipline, parameters: Mapping[str, Any]) -> None:
    """Raise a ``ValueError`` when the discipline has no such parameter, or a value is a number that is none."""
    known = [parameter.name for parameter in of.keys]
    for name, value in parameters.items():
        # The engine says why a discipline has no noecn.
        if name not in (*known, NOECN):
            raise ValueError(f"{of.name} has no parameter {name!r}{nearest(name, known)}; it has {', '.join(known)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value}")


def hint(name: str, known: Iterable[str]) -> str:
    """Return what helps somebody who named a discipline that there is not, in parentheses; nothing where nothing does.

    Parameters
    ----------
    name
        What was written.
    known
        The names that could have been meant.
    """
    if name in _ELSEWHERE:
        return f" ({_ELSEWHERE[name]})"
    if "/" in name or "." in name:
        return " (the name of a spec must end in .toml)"
    return nearest(name, known)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that may have been meant, as a question for a message; nothing where none is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


_FIFO = "did you mean 'droptail'?"
_SHAPER = "a shaper is a link: write link.rate"
_ELSEWHERE = {
    "fifo": _FIFO,
    "pfifo": _FIFO,
    "bfifo": _FIFO,
    "pfifo_fast": _FIFO,
    "tbf": _SHAPER,
    "htb": _SHAPER,
    "cake": "its shaper is link.rate, its queue fq_cobalt",
    "fq": "did you mean 'fq_codel' or 'sfq'?",
    "netem": "its delay is link.delay",
    "l4s": "did you mean 'dualpi2'?",
}
"""Hints by the names that ``tc`` and users give to disciplines that have another name here, or are none."""
