"""The tables of the evaluation: every clause says what covers it, and every scenario runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aqmlab.evaluation import document, measures, plan

DOCUMENT = document.load()

SECTIONS = (
    *("3.1", "4", "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2", "5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2"),
    *("6", "6.1", "6.2", "6.3", "6.4", *(f"7.{number}" for number in range(1, 12)), "8"),
)
"""The sections of RFC 9743 with a demand, in its order."""


def test_every_section_with_a_demand_is_a_clause() -> None:
    assert tuple(clause.section for clause in DOCUMENT.clauses) == SECTIONS


def test_a_clause_has_comparisons_or_a_reason() -> None:
    assert [clause.section for clause in DOCUMENT.clauses if not clause.requests and not clause.uncovered] == []


def test_every_scenario_point_and_measure_is_used() -> None:
    requests = [request for clause in DOCUMENT.clauses for request in clause.requests]
    points = {(name, point) for name, scenario in DOCUMENT.scenarios.items() for point in scenario.points}
    assert {(request.scenario, request.point) for request in requests} == points
    assert {request.measure for request in requests} == DOCUMENT.measures.keys() == measures.READ.keys()


def test_every_margin_is_positive_and_has_a_source() -> None:
    assert all(measure.margin > 0 and measure.source for measure in DOCUMENT.measures.values())
    assert {measure.better for measure in DOCUMENT.measures.values()} == {"less", "more"}


@pytest.mark.parametrize("control", ["prague", "dctcp"])
def test_the_engine_accepts_every_scenario(control: str) -> None:
    evaluation = plan(control, seeds=[1, 2, 3])
    assert {place for place, _ in evaluation.cells} == {
        (request.scenario, request.point) for clause in DOCUMENT.clauses for request in clause.requests
    }
    assert len({cell.key for group in evaluation.cells.values() for cell in group}) == 3 * len(evaluation.cells)


def test_controls_differ_only_in_the_tested_stack() -> None:
    evaluation = plan("bbr", clauses=["5.2.1"], seeds=[1, 2, 3], changes=["tcp.min_rto=300 ms"])
    place = ("beside_reno", "1 BDP")
    tested, reference = (evaluation.cells[place, role][0].resolved for role in ("tested", "cubic"))
    assert {name for name in tested if tested[name] != reference[name]} == {"tcp"}
    stacks = [(stack["tcp"]["congestion"], stack["tcp"]["min_rto"]) for stack in (tested, reference)]
    assert stacks == [("bbr", "300 ms"), ("cubic", "200 ms")]
    assert tested["tcp"]["mix"] == reference["tcp"]["mix"]
    assert tested["tcp"]["mix"][0]["congestion"] == "reno"


def test_the_page_of_results_has_every_clause() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies" / "rfc9743.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) ([^|]+) \| (\S+) \| [^|]+ \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE)
    assert rows == [(clause.section, clause.title, clause.level) for clause in DOCUMENT.clauses]


def requests(scenario: str, measure: str, point: str) -> list[document.Request]:
    written = document._WrittenComparison(scenario=scenario, measures=(measure,), points=(point,))
    return list(document._requests(written, DOCUMENT.scenarios, DOCUMENT.measures))


@pytest.mark.parametrize(
    ("scenario", "measure", "point"),
    [("rtts", "jain", "1:3"), ("rtts", "jane", "1:1"), ("media", "mos:voices", "1 BDP"), ("no such", "jain", "1:1")],
)
def test_a_table_with_an_unknown_name_is_refused(scenario: str, measure: str, point: str) -> None:
    assert requests("media", "mos:calls", "1 BDP")
    with pytest.raises(KeyError):
        requests(scenario, measure, point)
