"""The tables of an evaluation: clauses of a document, scenarios, and measures with their margins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from aqmlab import data_file


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of a run, and the largest difference from CUBIC's that still meets a clause."""

    text: str
    unit: str
    digits: int
    """The decimals of the number in tables."""
    better: Literal["less", "more"]
    margin: float
    source: str
    """The source of the margin."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An experiment without the congestion control under test."""

    name: str
    text: str
    spec: Mapping[str, Any]
    others: Mapping[str, str] = field(default_factory=dict)
    """The congestion controls of sources that do not have the control under test, by the names of the sources."""
    points: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"": ()})
    """The changes of the spec that make each point, by its name."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A comparison that a clause asks for: a measure at a point of a scenario."""

    scenario: str
    point: str
    measure: str
    source: str
    """The source that the measure is of; empty for a measure of the link."""


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A clause of the document with the comparisons that cover it."""

    section: str
    title: str
    level: str
    """The strongest requirement word of the clause."""
    demand: str
    requests: tuple[Request, ...]
    uncovered: str
    """The part without a comparison, or the reason for having none; empty if the comparisons cover the clause."""


@dataclass(frozen=True)
class Document:
    """The tables of an evaluation."""

    title: str
    text: str
    """The text that the clauses are of."""
    clauses: tuple[Clause, ...]
    scenarios: Mapping[str, Scenario]
    measures: Mapping[str, Measure]


@dataclass(frozen=True, kw_only=True)
class _WrittenScenario:
    text: str
    spec: dict[str, Any] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    points: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"": ()})

    def over(self, base: Mapping[str, Any], name: str) -> Scenario:
        """Return the scenario: its keys replace those of the base, and the keys of a link are added to the base's."""
        link = self.spec.get("link", {})
        merged = link if isinstance(link, list) else {**base["link"], **link}
        spec = {**base, **self.spec, "link": merged}
        return Scenario(name=name, text=self.text, spec=spec, others=self.others, points=self.points)


@dataclass(frozen=True, kw_only=True)
class _WrittenScenarios:
    base: dict[str, Any]
    scenarios: dict[str, _WrittenScenario]


@dataclass(frozen=True, kw_only=True)
class _WrittenComparison:
    scenario: str
    measures: tuple[str, ...]
    points: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _WrittenClause:
    section: str
    title: str
    level: str
    demand: str
    compare: tuple[_WrittenComparison, ...] = ()
    not_covered: str = ""
    remainder: str = ""


@dataclass(frozen=True, kw_only=True)
class _WrittenDocument:
    title: str
    text: str
    clauses: tuple[_WrittenClause, ...]


@cache
def load() -> Document:
    """Return the tables of RFC 9743.

    Raises
    ------
    KeyError, ValueError
        When a table names an unknown scenario, point, measure, source or key.
    """
    folder = files(__package__)
    measures = data_file.read(folder / "measures.toml", dict[str, Measure])
    tables = data_file.read(folder / "scenarios.toml", _WrittenScenarios)
    scenarios = {name: written.over(tables.base, name) for name, written in tables.scenarios.items()}
    document = data_file.read(folder / "rfc9743.toml", _WrittenDocument)
    clauses = tuple(
        Clause(
            section=clause.section,
            title=clause.title,
            level=clause.level,
            demand=clause.demand,
            requests=tuple(
                request for written in clause.compare for request in _requests(written, scenarios, measures)
            ),
            uncovered=clause.not_covered or clause.remainder,
        )
        for clause in document.clauses
    )
    return Document(document.title, document.text, clauses, scenarios, measures)


def _requests(
    written: _WrittenComparison, scenarios: Mapping[str, Scenario], measures: Mapping[str, Measure]
) -> Iterator[Request]:
    scenario = scenarios[written.scenario]
    sources = {"", *(next(iter(source.values()))["name"] for source in scenario.spec["sources"])}
    for point in written.points or scenario.points:
        for text in written.measures:
            measure, _, source = text.partition(":")
            for kind, name, known in (("point", point, scenario.points), ("source", source, sources)):
                if name not in known:
                    raise KeyError(f"{scenario.name} has no {kind} {name!r}")
            if measure not in measures:
                raise KeyError(f"{scenario.name}: there is no measure {measure!r}")
            yield Request(scenario=scenario.name, point=point, measure=measure, source=source)
