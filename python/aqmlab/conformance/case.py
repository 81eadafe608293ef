"""Cases of conformance: a clause of a standard, a scenario, a measured number with its bounds, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aqmlab._core import seconds
from aqmlab.conformance.trace import NotSeen, Trace


class Verdict(StrEnum):
    """The verdict about a case."""

    MEETS = "meets"
    FAILS = "fails"
    NOT_COVERED = "not covered"


@dataclass(frozen=True)
class Bounds:
    """The values that meet a clause, with the reason of the tolerance."""

    low: float
    high: float
    reason: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:.4g}"
        if math.isinf(self.low):
            return f"at most {self.high:.4g}"
        if math.isinf(self.high):
            return f"at least {self.low:.4g}"
        return f"{self.low:.4g} to {self.high:.4g}"


def about(value: float, tolerance: float, reason: str) -> Bounds:
    """Return the bounds of a value with a relative tolerance."""
    return Bounds(value * (1 - tolerance), value * (1 + tolerance), reason)


def exactly(value: float) -> Bounds:
    """Return the bounds of a count."""
    return Bounds(value, value, "a count")


def at_most(value: float, reason: str) -> Bounds:
    """Return an upper bound."""
    return Bounds(-math.inf, value, reason)


def at_least(value: float, reason: str) -> Bounds:
    """Return a lower bound."""
    return Bounds(value, math.inf, reason)


Changes = Mapping[str, tuple[Mapping[str, Any], ...]]
"""Lists of changes of a part of the spec, such as ``rate_changes``, with ``after`` the entry in place of ``at``."""


@dataclass(frozen=True, kw_only=True)
class Upon:
    """Changes of the link and of the application upon the entry of the flow into a phase.

    Changes have times, so that a case with one runs twice: the first run has the time of the entry, and the second one
    the changes from it on. Until then both are the same run.
    """

    phase: str
    """The phase, as the control reports it."""
    entry: int = 1
    """The number of the entry, from 1."""
    link: Changes = field(default_factory=dict)
    """Those of the link."""
    source: Changes = field(default_factory=dict)
    """Those of the source."""

    def scenario(self, scenario: Mapping[str, Any], trace: Trace) -> dict[str, Any]:
        """Return a scenario with the changes, from the series of a flow without them.

        Raises
        ------
        NotSeen
            When the flow does not enter the phase as often.
        """
        entries = trace.entries_into(self.phase)
        if len(entries) < self.entry:
            times = "" if self.entry == 1 else f" {self.entry} times"
            raise NotSeen(f"the flow does not enter {self.phase}{times}")
        at_s = trace.time[entries[self.entry - 1]]
        ((kind, source),) = scenario["sources"][0].items()
        return {
            **scenario,
            "link": {**scenario["link"], **_timed(self.link, at_s)},
            "sources": [{kind: {**source, **_timed(self.source, at_s)}}],
        }


def _timed(changes: Changes, entry_s: float) -> dict[str, list[dict[str, Any]]]:
    """Return changes with the times of a run, from those since an entry."""

    def timed(change: Mapping[str, Any]) -> dict[str, Any]:
        others = {key: value for key, value in change.items() if key != "after"}
        return {"at": f"{entry_s + seconds(change.get('after', '0 s')):g} s", **others}

    return {key: [timed(change) for change in some] for key, some in changes.items()}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One statement of a standard about the behaviour of a sender."""

    id: str
    """The name, which begins with that of the standard."""
    clause: str
    """The document and its section."""
    level: str
    """The requirement in the words of RFC 2119, or ``"model"`` for what follows from several statements."""
    demand: str
    """The behaviour that the clause demands."""
    quantity: str
    """The measured number, with its unit."""
    expected: Bounds
    """The bounds of the number."""
    scenario: Mapping[str, Any]
    """The experiment, as a spec without the congestion control."""
    measure: Callable[[Trace], float]
    """Measures the number from the flow's series."""
    upon: Upon | None = None
    """Changes of the scenario that depend on the flow."""
    follows_from: tuple[str, ...] = ()
    """Cases whose failure changes this number too; while one of them fails, the case is not covered."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case for a congestion control."""

    case: Case
    verdict: Verdict
    seen: float | None
    """The measured number; ``None`` if there is none."""
    trace: Trace
    """The series of the flow, the evidence."""
    reason: str = ""
    """The reason why the case is not covered."""

    @property
    def text(self) -> str:
        """The measured number as text, or a dash."""
        return "-" if self.seen is None else f"{self.seen:.4g}"

    def record(self) -> dict[str, Any]:
        """Return the outcome as values for JSON."""
        expected = self.case.expected
        bounds = {"low": _finite(expected.low), "high": _finite(expected.high), "tolerance": expected.reason}
        return {
            "case": self.case.id,
            "clause": self.case.clause,
            "level": self.case.level,
            "demand": self.case.demand,
            "quantity": self.case.quantity,
            "expected": bounds,
            "seen": self.seen,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "cell": self.trace.cell,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
