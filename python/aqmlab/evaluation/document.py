"""The tables of an evaluation: clauses of a document, scenarios, and measures with their margins."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of a run, and the largest difference from CUBIC's that still meets a clause."""

    text: str
    unit: str
    digits: int
    """The decimals of the number in tables."""
    better: str
    """``"less"`` or ``"more"``."""
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


@cache
def load() -> Document:
    """Return the tables of RFC 9743.

    Raises
    ------
    KeyError, TypeError
        When a table names an unknown scenario, point, measure, source or key.
    """
    measures = {name: Measure(**table) for name, table in _read("measures.toml").items()}
    scenarios = _scenarios(_read("scenarios.toml"))
    tables = _read("rfc9743.toml")
    clauses = tuple(_clause(table, scenarios, measures) for table in tables.pop("clauses"))
    return Document(**tables, clauses=clauses, scenarios=scenarios, measures=measures)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / name).read_text(encoding="utf-8"))


def _scenarios(tables: Mapping[str, Any]) -> dict[str, Scenario]:
    base, scenarios = tables["base"], {}
    for name, table in tables["scenarios"].items():
        spec, points = table.pop("spec", {}), table.pop("points", {"": []})
        link = spec.get("link", {})
        # A chain of links and a queue replace the base's; the keys of a link are added to its.
        merged = {**base, **spec, "link": link if isinstance(link, list) else {**base["link"], **link}}
        changes = {point: tuple(written) for point, written in points.items()}
        scenarios[name] = Scenario(name=name, spec=merged, points=changes, **table)
    return scenarios


def _clause(table: dict[str, Any], scenarios: Mapping[str, Scenario], measures: Mapping[str, Measure]) -> Clause:
    uncovered = table.pop("not_covered", "") or table.pop("remainder", "")
    requests = tuple(
        request for written in table.pop("compare", ()) for request in _requests(scenarios, measures, **written)
    )
    return Clause(**table, requests=requests, uncovered=uncovered)


def _requests(
    scenarios: Mapping[str, Scenario],
    known: Mapping[str, Measure],
    *,
    scenario: str,
    measures: list[str],
    points: list[str] | None = None,
) -> Iterator[Request]:
    for point in points or scenarios[scenario].points:
        if point not in scenarios[scenario].points:
            raise KeyError(f"{scenario} has no point {point!r}")
        for written in measures:
            measure, _, source = written.partition(":")
            if measure not in known:
                raise KeyError(f"{scenario}: there is no measure {measure!r}")
            if source and source not in _source_names(scenarios[scenario]):
                raise KeyError(f"{scenario} has no source {source!r}")
            yield Request(scenario=scenario, point=point, measure=measure, source=source)


def _source_names(scenario: Scenario) -> set[str]:
    return {next(iter(source.values()))["name"] for source in scenario.spec["sources"]}
