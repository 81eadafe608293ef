"""Reviewed claims: the paper's phrase, its parts as predicates, and the outcome.

Each part is decided by our results and, where the paper prints the numbers, by the paper's own table. A part that the
paper's table violates does not count, nor does a tie in the last printed digit, and the page lists both. A claim with a
part that the paper violates can no longer hold: it is *inconsistent* where all its other parts hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from aqmlab.studies.kit.claims.predicates import BetterCurve, Part
from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.findings import Finding, Outcome, Results, worst

Cause = Literal["model", "paper", "none"]
"""What a claim that does not hold is put down to: our model, or the paper, whose own numbers contradict it."""

Contradiction = Callable[[str], str | None]
"""Says why the users of a run cannot have been slowed by what the paper prints of it; ``None`` where they can.

A part that says so of the run, that another is better, is then left out as what the paper itself violates.
"""


def no_contradiction(run: str) -> str | None:
    """Find no contradiction."""
    return None


@dataclass(frozen=True, kw_only=True)
class ReviewedClaim:
    """A claim as it is read the second time."""

    id: str
    phrase: str
    """A few of the paper's words: those that it rests on."""
    parts: tuple[Part, ...]
    place: str = ""
    """Of one that the first reading left out: paper, with section, page or figure."""
    gist: str = ""
    """Of one that the first reading left out: what is claimed, in our words."""

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("parts: must be at least one, got none")

    def decide(
        self, results: Results, printed: PrintedTables, contradiction: Contradiction = no_contradiction
    ) -> Conclusion:
        """Decide it, and once more with half and with double the limits."""
        counted: list[Part] = []
        contradicted: list[str] = []
        ties: list[str] = []
        for part in self.parts:
            on_paper, why = part.on_paper(printed), _slowed(part, contradiction)
            if on_paper is Outcome.FAILS or why:
                contradicted.append(f"{part} ({why or 'not so in the paper'})")
            elif on_paper is Outcome.UNDECIDED:
                ties.append(f"{part} (a tie in the paper)")
            else:
                counted.append(part)
        at = {scale: [part(results, scale) for part in counted] for scale in (1.0, 0.5, 2.0)}
        outcomes = {scale: _together(found, contradicted=bool(contradicted)) for scale, found in at.items()}
        return Conclusion(
            outcome=outcomes[1.0],
            finding=worst(at[1.0]).of_all(at[1.0]) if counted else None,
            contradicted=tuple(contradicted),
            ties=tuple(ties),
            at_half=outcomes[0.5],
            at_double=outcomes[2.0],
        )


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What became of a claim at its second reading."""

    outcome: Outcome
    finding: Finding | None
    """The numbers that decided, and how many parts hold; ``None`` where no part is left to decide by."""
    contradicted: tuple[str, ...]
    """Parts left out since the paper itself violates them."""
    ties: tuple[str, ...]
    """Parts left out since they are ties in the paper's table."""
    at_half: Outcome
    """With half the limits."""
    at_double: Outcome
    """With double the limits."""

    @property
    def parts(self) -> int:
        """Parts that count."""
        return self.finding.parts if self.finding else 0

    @property
    def held(self) -> int:
        """Those of them that hold."""
        return self.finding.held if self.finding else 0

    @property
    def cause(self) -> Cause:
        """What it is put down to that the claim does not hold; nothing where it holds or is undecided."""
        causes: dict[Outcome, Cause] = {Outcome.FAILS: "model", Outcome.INCONSISTENT: "paper"}
        return causes.get(self.outcome, "none")

    def text(self) -> str:
        """Return what decided in words, and how many parts are left out."""
        words = [self.finding.text()] if self.finding else []
        words += [f"{len(self.contradicted)} left out: not so in the paper"] if self.contradicted else []
        words += [f"{len(self.ties)} left out: {'a tie' if len(self.ties) == 1 else 'ties'}"] if self.ties else []
        return "; ".join(words)


def reviewed_claim(id_: str, phrase: str, *parts: Part | Iterable[Part]) -> ReviewedClaim:
    """Return the second reading of a registered claim."""
    return ReviewedClaim(id=id_, phrase=phrase, parts=tuple(_flat(parts)))


def added_claim(id_: str, place: str, gist: str, phrase: str, *parts: Part | Iterable[Part]) -> ReviewedClaim:
    """Return the reading of a claim that the first reading left out."""
    return ReviewedClaim(id=id_, phrase=phrase, parts=tuple(_flat(parts)), place=place, gist=gist)


def _flat(parts: Sequence[Part | Iterable[Part]]) -> Iterable[Part]:
    for part in parts:
        if isinstance(part, Iterable):
            yield from part
        else:
            yield part


def _slowed(part: Part, contradiction: Contradiction) -> str | None:
    """Say why the users of the run that a part says are worse off cannot have been so."""
    return contradiction(part.other) if isinstance(part, BetterCurve) and not part.negated else None


def _together(found: Sequence[Finding], *, contradicted: bool) -> Outcome:
    if not found:
        return Outcome.INCONSISTENT if contradicted else Outcome.UNDECIDED
    outcome = worst(found).outcome
    return Outcome.INCONSISTENT if contradicted and outcome is Outcome.HOLDS else outcome
