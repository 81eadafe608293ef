"""The outcome of each claim of a study at both readings, in one place for page, terminal and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aqmlab.studies.kit.claims.registered import RegisteredClaim
from aqmlab.studies.kit.claims.review import Conclusion, ReviewedClaim
from aqmlab.studies.kit.study import Study, StudyResults


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One claim and its outcomes."""

    claim: ReviewedClaim
    conclusion: Conclusion
    registered: RegisteredClaim | None
    """Its first reading; ``None`` for a claim added later, and for schemes other than the registered ones."""
    place: str
    gist: str

    @property
    def id(self) -> str:
        """The claim's identifier."""
        return self.claim.id

    def record(self, study: str) -> dict[str, Any]:
        """Return the decision as one object: its entry in ``claims.json``, and what decided."""
        return {**self.outcomes(study), "place": self.place, "claim": self.gist, **self._first(), **self._second()}

    def outcomes(self, study: str) -> dict[str, Any]:
        """Return the outcomes: the claim's entry in ``claims.json``."""
        return {
            "study": study,
            "id": self.id,
            "first": str(self.registered.outcome) if self.registered else None,
            "second": str(self.conclusion.outcome),
            "cause": self.conclusion.cause,
            "parts": self.conclusion.parts,
            "held": self.conclusion.held,
        }

    def _first(self) -> dict[str, Any]:
        if self.registered is None:
            return {}
        return {"predicate": self.registered.predicate, "evidence": self.registered.evidence}

    def _second(self) -> dict[str, Any]:
        conclusion = self.conclusion
        return {
            "phrase": self.claim.phrase,
            "reviewed": [str(part) for part in self.claim.parts],
            "numbers": conclusion.finding.numbers() if conclusion.finding else None,
            "contradicted": list(conclusion.contradicted),
            "ties": list(conclusion.ties),
            "at_half_the_limits": str(conclusion.at_half),
            "at_double_the_limits": str(conclusion.at_double),
        }


def decide(study: Study, results: StudyResults) -> list[Decision]:
    """Decide the claims of a study: the registered ones in their order, then those that were added."""
    printed = study.printed()
    registered = {claim.id: claim for claim in study.registration().claims}
    decisions = []
    for claim in study.reviewed_claims():
        first = registered.get(claim.id)
        decisions.append(
            Decision(
                claim=claim,
                conclusion=claim.decide(results, printed, study.contradiction),
                # With other schemes the registered outcome is not about these results.
                registered=None if study.options else first,
                place=first.place if first else claim.place,
                gist=first.gist if first else claim.gist,
            )
        )
    return decisions
