"""RFC 7928 as a study: any discipline, characterised as the guidelines ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

from aqmlab._core import seconds
from aqmlab.spec.experiment import Protocol
from aqmlab.spec.schemes import Scheme
from aqmlab.studies.kit.claims.review import ReviewedClaim
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table
from aqmlab.studies.rfc7928 import figures as figures_of
from aqmlab.studies.rfc7928 import tables as tables_of
from aqmlab.studies.rfc7928.claims import reviewed_claims
from aqmlab.studies.rfc7928.runs import ALL, ALONE, LEVELS, Scenario
from aqmlab.studies.rfc7928.schemes import CHOSEN, can_mark, variants, with_marks, with_reference
from aqmlab.studies.rfc7928.topologies import AGGRESSIVE, BACKGROUND, CAPACITY, pairs


class Rfc7928(Study, package=__package__):
    """The characterisation guidelines, for the chosen disciplines or for those of ``--aqm``."""

    name = "rfc7928"
    claims: ClassVar = reviewed_claims(with_reference(CHOSEN))

    def __init__(self) -> None:
        self.schemes = with_reference(CHOSEN)

    def with_schemes(self, schemes: Sequence[Scheme]) -> Self:
        """Characterise these schemes, with drop-tail beside them."""
        other = type(self)()
        other.schemes = with_reference(schemes)
        other.options = "".join(f" --aqm {_quoted(scheme.label)}" for scheme in schemes)
        return other

    def reviewed_claims(self) -> Sequence[ReviewedClaim]:
        """Return what is expected of these schemes."""
        return reviewed_claims(self.schemes)

    def runs(self, length: Length) -> Sequence[Run]:
        """Return every scenario under every scheme, the levels of congestion with ECN and with other parameters too."""
        found: list[Run] = []
        for scheme in self.schemes:
            found += [_run(scenario, scheme, length) for scenario in (*ALL, ALONE, AGGRESSIVE, *BACKGROUND, *CAPACITY)]
            if can_mark(scheme):
                found += [_run(each, with_marks(scheme), length, name=f"{each.name}-ecn") for each in LEVELS]
            medium = LEVELS[1]
            for variant in variants(scheme, medium.room):
                found.append(_run(medium, variant.scheme, length, name=f"tuned-{variant.factor:g}"))
        found += [replace(_run(pair.scenario, pair.first, length), name=pair.run) for pair in pairs(self.schemes)]
        return found

    def tables(self, results: StudyResults) -> Sequence[Table]:
        """Return a table for each section of the RFC."""
        return tables_of.tables(results, self.schemes)

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        """Return ellipses of delay and throughput, and what other scenarios show over time, round trip or parameter."""
        return figures_of.figures(results, self.schemes)


def _run(scenario: Scenario, scheme: Scheme, length: Length, *, name: str = "") -> Run:
    longer = Protocol(warmup=length.warmup, duration=f"{scenario.times * seconds(length.duration):g} s")
    return Run(
        name=f"{name or scenario.name}/{scheme.label}",
        experiment=scenario.experiment(scheme, longer),
        label=scheme.label,
    )


def _quoted(label: str) -> str:
    return f'"{label}"' if " " in label else label


STUDY = Rfc7928()
