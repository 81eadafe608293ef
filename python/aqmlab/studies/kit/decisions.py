"""Decisions: the outcomes of each claim of a study at both readings, for page, terminal and JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aqmlab.studies.kit.claims.registered import RegisteredClaim
from aqmlab.studies.kit.claims.review import Conclusion, ReviewedClaim
from aqmlab.studies.kit.study import Study, StudyResults


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One claim with its outcomes."""

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

    def outcomes(self) -> dict[str, Any]:
        """Return the outcomes with the deciding numbers: the claim's entry in the study's record."""
        first = str(self.registered.outcome) if self.registered else None
        return {"id": self.id, "first": first, **self.conclusion.record()}

    def described(self) -> dict[str, Any]:
        """Return the outcomes with the texts of the claim, for ``--json``."""
        first = self.registered
        return {
            **self.outcomes(),
            "place": self.place,
            "claim": self.gist,
            **({"predicate": first.predicate, "evidence": first.evidence} if first else {}),
            "phrase": self.claim.phrase,
            "reviewed": [str(part) for part in self.claim.parts],
        }


def decide(study: Study, results: StudyResults) -> list[Decision]:
    """Decide the claims of a study: the registered ones in their order, then those that were added."""
    printed = study.printed()
    return decisions(study, lambda claim: claim.decide(results, printed, study.contradiction))


def decisions(study: Study, conclude: Callable[[ReviewedClaim], Conclusion]) -> list[Decision]:
    """Return the claims of a study with their conclusions and registered outcomes."""
    registered = {claim.id: claim for claim in study.registration().claims}
    found = []
    for claim in study.reviewed_claims():
        first = registered.get(claim.id)
        found.append(
            Decision(
                claim=claim,
                conclusion=conclude(claim),
                # With other schemes the registered outcome is not about these results.
                registered=None if study.options else first,
                place=first.place if first else claim.place,
                gist=first.gist if first else claim.gist,
            )
        )
    return found
