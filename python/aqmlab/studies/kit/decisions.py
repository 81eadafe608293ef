"""What became of each claim of a study at both readings, in one place for page, terminal and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aqmlab.studies.kit.claims import Claim
from aqmlab.studies.kit.findings import Finding
from aqmlab.studies.kit.reading.second import Conclusion, Second
from aqmlab.studies.kit.study import Study, StudyResults


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One claim, and what became of it."""

    id: str
    place: str
    gist: str
    first: tuple[Claim, Finding] | None
    """As it was registered before any result; ``None`` of what the first reading left out."""
    second: tuple[Second, Conclusion] | None
    """As it was read again; ``None`` where nobody has."""

    def record(self, study: str) -> dict[str, Any]:
        """Return it as one object: what ``claims.json`` has of it, and what decided."""
        return {**self.outcomes(study), "place": self.place, "claim": self.gist, **self._first(), **self._second()}

    def outcomes(self, study: str) -> dict[str, Any]:
        """Return what became of it: its entry in ``claims.json``."""
        conclusion = self.second[1] if self.second else None
        return {
            "study": study,
            "id": self.id,
            "first": str(self.first[1].outcome) if self.first else None,
            "second": str(conclusion.outcome) if conclusion else None,
            "cause": conclusion.cause if conclusion else "none",
            "parts": conclusion.parts if conclusion else None,
            "held": conclusion.held if conclusion else None,
        }

    def _first(self) -> dict[str, Any]:
        if self.first is None:
            return {}
        claim, finding = self.first
        return {"predicate": str(claim.predicate), "numbers": finding.numbers()}

    def _second(self) -> dict[str, Any]:
        if self.second is None:
            return {}
        second, conclusion = self.second
        return {
            "phrase": second.phrase,
            "read_again": [str(part) for part in second.parts],
            "read_again_numbers": conclusion.finding.numbers() if conclusion.finding else None,
            "contradicted": list(conclusion.contradicted),
            "ties": list(conclusion.ties),
            "at_half_the_limits": str(conclusion.at_half),
            "at_double_the_limits": str(conclusion.at_double),
        }


def decide(study: Study, results: StudyResults) -> list[Decision]:
    """Decide what a study's paper says: the registered claims in their order, then what was added to them."""
    printed = study.printed()
    again = {each.id: (each, each.decide(results, printed, study.doubt)) for each in study.read_again()}
    registered = [
        Decision(
            id=claim.id,
            place=claim.place,
            gist=claim.gist,
            first=(claim, claim.decide(results)),
            second=again.pop(claim.id, None),
        )
        for claim in study.decidable()
    ]
    added = [
        Decision(id=second.id, place=second.place, gist=second.gist, first=None, second=(second, conclusion))
        for second, conclusion in again.values()
    ]
    return [*registered, *added]
