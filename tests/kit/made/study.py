"""A study of seconds, for tests of what every study has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import ClassVar

import pytest
from matplotlib.figure import Figure as Canvas

from aqmlab import studies
from aqmlab.results.result import Result
from aqmlab.spec import schemes
from aqmlab.spec.experiment import Experiment
from aqmlab.studies.kit.claims.builders import more, same, within
from aqmlab.studies.kit.claims.quantities import Column, PrintedTables
from aqmlab.studies.kit.claims.registered import RegisteredClaim, Registration
from aqmlab.studies.kit.claims.review import ReviewedClaim, added_claim, reviewed_claim
from aqmlab.studies.kit.findings import Outcome
from aqmlab.studies.kit.study import Figure, Length, Run, Study, StudyResults, Table


def throughput(result: Result) -> float:
    return float(result.summary["throughput_mbps"])


MBPS = Column(what="throughput, Mbit/s", measure=throughput, name="mbps", digits=1)


class Tiny(Study):
    name: ClassVar[str] = "tiny"
    title: ClassVar[str] = "A tiny study"
    about: ClassVar[str] = "Two schemes.\n\nNothing differs."
    sources: ClassVar[dict[str, str]] = {"nobody": "Nobody: Nothing. 2003."}
    lengths: ClassVar[dict[str, Length]] = {
        name: Length(name=name, warmup="1 s", duration=f"{seconds} s", seeds=2)
        for name, seconds in (("quick", 1), ("default", 2), ("full", 3))
    }
    claims: ClassVar[Sequence[ReviewedClaim]] = (
        reviewed_claim("tiny-1", "gets through", within(MBPS, "droptail", low=0.1), same("pi", "pi")),
        reviewed_claim("tiny-2", "carries more", more(MBPS, "pi", ["droptail"])),
        added_claim("tiny-3", "Section 3", "pi is itself", "is itself", same("pi", "pi")),
    )

    def registration(self) -> Registration:
        rows = (
            ("Section 1", "something gets through", "throughput is at least 0.1", Outcome.HOLDS),
            ("Section 2", "a scheme carries more than | itself", "pi carries more than pi", Outcome.FAILS),
        )
        claims = (
            RegisteredClaim(id=f"tiny-{n}", place=place, gist=gist, predicate=text, outcome=outcome, evidence="2 pairs")
            for n, (place, gist, text, outcome) in enumerate(rows, 1)
        )
        return Registration(results=1, length="seeds 1 to 2", words="*More* is any difference.", claims=tuple(claims))

    def printed(self) -> PrintedTables:
        return {"pi": {"mbps": 1.0}, "droptail": {"mbps": 2.0}}

    def runs(self, length: Length) -> Sequence[Run]:
        bare = Experiment(
            testbed="unc-2003",
            link={"rate": "10 Mbit/s"},
            users={"per_side": 100, "workload": "unc-2001"},
            protocol=length.protocol,
        )
        return [
            Run(name=name, experiment=schemes.parse(name).applied_to(bare), label=name) for name in ("droptail", "pi")
        ]

    def tables(self, results: StudyResults) -> Sequence[Table]:
        rows = [[name, sum(map(throughput, each)) / len(each), None] for name, each in results.items()]
        return [Table(name="carried", title="What is carried", columns=("scheme", "Mbit/s", "published"), rows=rows)]

    def figures(self, results: StudyResults) -> Sequence[Figure]:
        def draw(canvas: Canvas) -> None:
            canvas.subplots().bar(list(results), [throughput(each[0]) for each in results.values()])

        return [
            Figure(name=name, caption=f"What is {name}.", draw=draw, size=(4, 3)) for name in ("carried", "carried-too")
        ]


def register(patch: pytest.MonkeyPatch) -> None:
    """Put it among the studies that there are."""
    module = ModuleType("aqmlab.studies.tiny")
    module.STUDY = Tiny()  # type: ignore[attr-defined]
    patch.setitem(sys.modules, module.__name__, module)
    patch.setattr(studies, "STUDIES", (*studies.STUDIES, "tiny"))
