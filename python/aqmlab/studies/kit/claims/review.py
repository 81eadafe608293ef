"""Reviewed claims, the second reading: a phrase of the paper, its predicates, and the outcome.

Our results decide each part, and so does the paper's own table where it prints the numbers. A part that the paper's
table contradicts does not count, nor does a tie in the last printed digit; the page lists both. A claim with a
contradicted part cannot hold: it is *inconsistent* where all its other parts hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from aqmlab.studies.kit.claims.predicates import BetterCurve, Part
from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.findings import Finding, Outcome, Results, worst

Cause = Literal["model", "paper", "none"]
"""Cause of a failure: our model, or the paper, whose own numbers contradict the claim."""

Contradiction = Callable[[str], str | None]
"""Returns the reason why the printed losses of a run cannot have slowed its users; ``None`` where they can.

A part that calls another run better than it is then excluded as contradicted by the paper.
"""


def no_contradiction(run: str) -> str | None:
    """Find no contradiction."""
    return None


@dataclass(frozen=True, kw_only=True)
class ReviewedClaim:
    """A claim at its second reading."""

    id: str
    phrase: str
    """The words of the paper that it rests on."""
    parts: tuple[Part, ...]
    place: str = ""
    """Paper with section, page or figure, for a claim that is not registered."""
    gist: str = ""
    """The claim in our words, if it is not registered."""

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("parts: must be at least one, got none")

    def decide(
        self, results: Results, printed: PrintedTables, contradiction: Contradiction = no_contradiction
    ) -> Conclusion:
        """Decide it, also with half and with double the limits."""
        included: list[Part] = []
        contradicted: list[str] = []
        ties: list[str] = []
        for part in self.parts:
            on_paper, why = part.on_paper(printed), _slowed(part, contradiction)
            if on_paper is Outcome.FAILS or why:
                contradicted.append(f"{part} ({why or 'not so in the paper'})")
            elif on_paper is Outcome.UNDECIDED:
                ties.append(f"{part} (a tie in the paper)")
            else:
                included.append(part)
        at = {scale: [part(results, scale) for part in included] for scale in (1.0, 0.5, 2.0)}
        outcomes = {scale: _together(found, contradicted=bool(contradicted)) for scale, found in at.items()}
        return Conclusion(
            outcome=outcomes[1.0],
            finding=worst(at[1.0]).of_all(at[1.0]) if included else None,
            contradicted=tuple(contradicted),
            ties=tuple(ties),
            at_half=outcomes[0.5],
            at_double=outcomes[2.0],
        )


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """Outcome of a claim at its second reading."""

    outcome: Outcome
    finding: Finding | None
    """The deciding numbers and the counts of parts; ``None`` where every part is excluded."""
    contradicted: tuple[str, ...]
    """Excluded parts that the paper itself contradicts."""
    ties: tuple[str, ...]
    """Excluded parts that are ties in the paper's table."""
    at_half: Outcome
    """Outcome with half the limits."""
    at_double: Outcome
    """Outcome with double the limits."""

    @property
    def parts(self) -> int:
        """Number of parts that count."""
        return self.finding.parts if self.finding else 0

    @property
    def held(self) -> int:
        """Number of counted parts that hold."""
        return self.finding.held if self.finding else 0

    @property
    def cause(self) -> Cause:
        """Cause of the failure; ``none`` where the claim holds or is undecided."""
        causes: dict[Outcome, Cause] = {Outcome.FAILS: "model", Outcome.INCONSISTENT: "paper"}
        return causes.get(self.outcome, "none")

    @classmethod
    def from_record(cls, entry: Mapping[str, Any]) -> Self:
        """Restore the conclusion of a claim from its entry in a study's record."""
        outcome, finding = Outcome(entry["second"]), None
        if (numbers := entry["numbers"]) is not None:
            finding = Finding.from_numbers(outcome, numbers, parts=entry["parts"], held=entry["held"])
        return cls(
            outcome=outcome,
            finding=finding,
            contradicted=tuple(entry["contradicted"]),
            ties=tuple(entry["ties"]),
            at_half=Outcome(entry["at_half_the_limits"]),
            at_double=Outcome(entry["at_double_the_limits"]),
        )

    def record(self) -> dict[str, Any]:
        """Return the conclusion as plain values: its part of the claim's entry in a study's record."""
        return {
            "second": str(self.outcome),
            "cause": self.cause,
            "parts": self.parts,
            "held": self.held,
            "at_half_the_limits": str(self.at_half),
            "at_double_the_limits": str(self.at_double),
            "numbers": self.finding.numbers() if self.finding else None,
            "contradicted": list(self.contradicted),
            "ties": list(self.ties),
        }

    def text(self) -> str:
        """Return the deciding numbers as text, with the number of excluded parts."""
        words = [self.finding.text()] if self.finding else []
        words += [f"{len(self.contradicted)} excluded: not so in the paper"] if self.contradicted else []
        words += [f"{len(self.ties)} excluded: {'a tie' if len(self.ties) == 1 else 'ties'}"] if self.ties else []
        return "; ".join(words)


Parts = Part | Iterable["Parts"]
"""A part, or parts nested in iterables."""


def reviewed_claim(id_: str, phrase: str, *parts: Parts) -> ReviewedClaim:
    """Return the second reading of a registered claim."""
    return ReviewedClaim(id=id_, phrase=phrase, parts=tuple(_flat(parts)))


def added_claim(id_: str, place: str, gist: str, phrase: str, *parts: Parts) -> ReviewedClaim:
    """Return a claim that is not registered."""
    return ReviewedClaim(id=id_, phrase=phrase, parts=tuple(_flat(parts)), place=place, gist=gist)


def _flat(parts: Parts) -> Iterable[Part]:
    if isinstance(parts, Iterable):
        for part in parts:
            yield from _flat(part)
    else:
        yield parts


def _slowed(part: Part, contradiction: Contradiction) -> str | None:
    """Return the reason why the run that a part calls worse cannot be worse."""
    return contradiction(part.other) if isinstance(part, BetterCurve) and not part.negated else None


def _together(found: Sequence[Finding], *, contradicted: bool) -> Outcome:
    if not found:
        return Outcome.INCONSISTENT if contradicted else Outcome.UNDECIDED
    outcome = worst(found).outcome
    return Outcome.INCONSISTENT if contradicted and outcome is Outcome.HOLDS else outcome
