"""The questions of Le, Aikat, Jeffay and Smith (2003), asked again for users, hosts and disciplines of today."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from aqmlab._core import SpecError
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.le2025 import figures as figures_of
from aqmlab.studies.le2025 import tables as tables_of
from aqmlab.studies.le2025.claims import CLAIMS
from aqmlab.studies.le2025.schemes import LINKS, StudyLink, on


class Le2025(Study, package=__package__):
    """Users of web-2024 behind the links of then and now, or behind one of them."""

    name: ClassVar[str] = "le2025"
    claims: ClassVar[Sequence[ReviewedClaim]] = CLAIMS

    def __init__(self, links: Sequence[StudyLink] = LINKS) -> None:
        self.links = tuple(links)
        if self.links != LINKS:
            (link,) = self.links
            self.part = link.name

    def only(self, part: str) -> Self:
        """Return the study of one of the links."""
        chosen = [link for link in LINKS if link.name == part]
        if not chosen:
            raise SpecError(f"--only: must be one of {', '.join(link.name for link in LINKS)}, got {part!r}")
        return type(self)(chosen)

    def departures(self, length: Length) -> str:
        """Return the differences of runs of a length from the plan, as Markdown; empty without any."""
        planned = self.lengths["default"]
        found = []
        if length.protocol != planned.protocol:
            found.append(f"runs have {length.warmup} of warm-up and {length.duration} measured: they try the study out")
        seeds, planned_seeds = _seeds(length), _seeds(planned)
        if seeds != planned_seeds:
            text = f"seeds are {_text(seeds)} in place of {_text(planned_seeds)}"
            if set(seeds) < set(planned_seeds):
                text += ": processor time limited their number, before any result was looked at"
            found.append(text)
        if self.links != LINKS:
            decided = {claim.id for claim in self.reviewed_claims()}
            undecided = ", ".join(claim.id.rpartition("-")[2] for claim in CLAIMS if claim.id not in decided)
            found.append(f"only the link of {self.part} was run, and claims {undecided} are not decided here")
        if not found:
            return ""
        return f"**Departures from [the plan](le2025-plan.md):** {'; '.join(found)}."

    def reviewed_claims(self) -> Sequence[ReviewedClaim]:
        """Return the claims about these links alone."""
        names = {scheme.at(load, link) for link in self.links for load in link.loads for scheme in on(link)}
        return [claim for claim in CLAIMS if all(run in names for part in claim.parts for run in part.runs)]

    def runs(self, length: Length) -> Sequence[Run]:
        """Return a run for each link, load and scheme."""
        return [scheme.run(load, link, length) for link in self.links for load in link.loads for scheme in on(link)]

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return page load times, shares of requests, and other numbers of each link."""
        return tables_of.tables(results, self.links)

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return response times on each link, and page load times over the load."""
        return figures_of.figures(results, self.links)


def _text(seeds: range) -> str:
    return f"{seeds.start} to {seeds.stop - 1}"


def _seeds(length: Length) -> range:
    return range(length.first_seed, length.last_seed + 1)


STUDY = Le2025()
