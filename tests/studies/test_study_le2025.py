"""The study of the users of today: its plan, and its claims on results that were made up to keep or to break them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import fixtures.results
from aqmlab._core import SpecError
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.spec.experiment import Protocol
from aqmlab.store.result import Result
from aqmlab.studies.kit.decisions import decide
from aqmlab.studies.kit.page import front
from aqmlab.studies.kit.report import Provenance, Report, read_record, write_record
from aqmlab.studies.kit.study import study_cells
from aqmlab.studies.le2025 import STUDY
from fixtures.study import check

PLAN = Path(__file__).parents[2] / "docs" / "studies" / "le2025-plan.md"

QUICK, PLANNED = STUDY.lengths["quick"], STUDY.lengths["default"]

Numbers = Mapping[str, float]
"""Differences from the expected numbers of a run: ``ms`` of all response times, ``page`` in s, ``mbps``."""


def usual_ms(scheme: str) -> float:
    """Return the response time of all requests where the claims hold on congested links."""
    times = {
        "drop-tail 10 ms": 1000,
        "drop-tail 50 ms": 800,
        "PI": 900,
        "REM": 900,
        "PI with ECN": 720,
        "REM with ECN": 720,
        "ARED in packet mode": 1400,
        "ARED in packet mode with ECN": 900,
        "ARED in byte mode": 800,
        "ARED in byte mode with ECN": 650,
    }
    is_fast = scheme.startswith(("FQ-CoDel", "CAKE")) or scheme.endswith("L4S")
    return float(times.get(scheme, 300 if is_fast else 400))


def expected(run: str) -> dict[str, float]:
    """Return the numbers of a run where all claims hold."""
    scheme, _, place = run.partition(" at ")
    fast = {"ms": 300.0, "page": 2.0, "mbps": 95.0}
    if not place.startswith(("90", "98", "105")) or scheme == "uncongested":
        return fast
    if place == "90 % now":
        return fast
    pages = {"drop-tail 250 ms": 4.0, "drop-tail 50 ms": 3.0, "FQ-CoDel": 2.0, "CAKE": 2.0}
    return {"ms": usual_ms(scheme), "page": pages.get(scheme, 3.0), "mbps": 95.0}


def write(directory: Path, numbers: Numbers) -> Path:
    bins = pl.DataFrame({"time_low_ms": [numbers["ms"]], "time_high_ms": [numbers["ms"] + 10], "count": [1000]})
    sizes = {"size_low_bytes": 32, "size_high_bytes": 64}
    pages = {
        "pages": 1000,
        "incomplete_pages": 1,
        "load_s_p50": numbers["page"],
        "load_s_p95": 10.0,
        "first_render_s_p50": 1.0,
    }
    link = {
        "throughput_mbps": numbers["mbps"],
        "loss_percent": 1.0,
        "mark_percent": 0.0,
        "queue_delay_ms": {"mean": 10.0, "p99": 40.0},
    }
    directions = [
        {**link, "direction": direction, "throughput_mbps": mbps} for direction, mbps in enumerate((2.0, 900.0))
    ]
    summary = {**link, "directions": directions, "pages": pages}
    histogram = bins.with_columns(**{name: pl.lit(size) for name, size in sizes.items()})
    return fixtures.results.write(directory, summary=summary, response_times=histogram)


Results = dict[str, list[Result]]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Results:
    root = tmp_path_factory.mktemp("good")
    results: Results = {}
    made: dict[tuple[float, ...], Path] = {}
    for run, cells in study_cells(STUDY, QUICK, load_calibrations()).items():
        numbers = expected(run)
        key = tuple(numbers.values())
        if key not in made:
            made[key] = write(root / str(len(made)), numbers)
        results[run] = [Result(cell, made[key]) for cell in cells]
    return results


def otherwise(good: Results, directory: Path, changes: Mapping[str, Numbers]) -> Results:
    """Return the results with other numbers of some runs."""
    changed = dict(good)
    for number, (run, numbers) in enumerate(changes.items()):
        folder = write(directory / str(number), {**expected(run), **numbers})
        changed[run] = [Result(result.cell, folder) for result in good[run]]
    return changed


def outcomes(results: Results) -> dict[str, str]:
    return {each.id.removeprefix("le2025-"): str(each.conclusion.outcome) for each in decide(STUDY, results)}


def registered() -> list[list[str]]:
    """Return identifier, question and words of each claim in the plan's table."""
    lines = PLAN.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| le2025-")]


def test_the_claims_are_those_of_the_plan() -> None:
    rows = registered()
    assert len(rows) == 17
    assert [(claim.id, claim.gist) for claim in STUDY.claims] == [(id_, gist) for id_, _, gist in rows]


def test_each_claim_belongs_to_a_question_of_the_plan() -> None:
    asked = ""
    for claim, (_, question, _) in zip(STUDY.claims, registered(), strict=True):
        asked = question or asked
        assert claim.phrase == asked, claim.id


def test_the_default_is_that_of_the_plan() -> None:
    text = PLAN.read_text(encoding="utf-8")
    assert "1 min of warm-up and 10 min measured; seeds are 101 to 110" in text
    assert str(PLANNED) == "1 min of warm-up and 10 min measured, seeds 101 to 110"
    assert STUDY.departures(PLANNED) == ""


def test_the_measured_times_are_those_of_the_plan() -> None:
    assert "On the link of now, 2 min are measured in place of 10." in PLAN.read_text(encoding="utf-8")
    measured = {(run.name.rpartition(" ")[2], run.experiment.protocol) for run in STUDY.runs(PLANNED)}
    then, now = Protocol(warmup="1 min", duration="10 min"), Protocol(warmup="1 min", duration="120 s")
    assert measured == {("then", then), ("now", now)}


def test_the_runs_are_those_of_the_plan() -> None:
    runs = {run.name: run for run in STUDY.runs(PLANNED)}
    assert len(runs) == 6 * 23 + 3 * 15
    points = {name.partition(" at ")[2] for name in runs}
    assert points == {*(f"{load} % then" for load in (50, 70, 80, 90, 98, 105)), "90 % now", "98 % now", "105 % now"}
    assert not [name for name in runs if name.endswith("now") and name.startswith(("PI ", "REM", "ARED"))]
    for run in runs.values():
        tcp, users, link = run.experiment.tcp, run.experiment.users, run.experiment.link
        ecn = "accurate" if "L4S" in run.name else "with ECN" in run.name
        assert (tcp.ecn, tcp.model_dump().get("congestion")) == (ecn, "prague" if ecn == "accurate" else None), run.name
        assert (users.workload, users.rtt, tcp.profile) == ("web-2024", "uniform", "linux-6")
        assert (users.sides, link.rate) == ((2, "100 Mbit/s") if run.name.endswith("then") else (1, "1000 Mbit/s"))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("scheme", "queue"),
    [
        ("drop-tail 10 ms at 98 % then", {"droptail": {"limit": "125 kB"}}),
        ("drop-tail 250 ms at 98 % now", {"droptail": {"limit": "31250 kB"}}),
        ("REM with ECN at 98 % then", {"rem": {"q_ref": 24, "mode": "byte", "tau": "1 ms"}}),
        (
            "ARED in packet mode at 98 % then",
            {"ared": {"min_th": 12, "max_th": 36, "w_q": 1 / 8192, "mode": "packet"}},
        ),
        ("CAKE with ECN at 98 % now", {"cake": {}}),
    ],
)
def test_a_scheme_has_the_parameters_of_the_plan(scheme: str, queue: dict[str, object]) -> None:
    (run,) = (run for run in STUDY.runs(QUICK) if run.name == scheme)
    assert run.experiment.queue.model_dump() == queue


def test_all_schemes_of_a_load_have_the_same_users() -> None:
    cells = study_cells(STUDY, QUICK, load_calibrations())
    for place in ("50 % then", "105 % then", "98 % now"):
        users = {cells[run][0].users_per_side for run in cells if run.endswith(f" at {place}")}
        assert len(users) == 1
        assert users != {0}


def test_all_claims_hold_where_all_is_as_they_say(good: Results) -> None:
    assert outcomes(good) == {str(number): "holds" for number in range(1, 18)}


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"PI with ECN at 98 % then": {"ms": 885}}, {"1"}),
        ({"REM at 105 % then": {"ms": 500}}, {"1", "2"}),
        ({"CoDel with ECN at 90 % then": {"ms": 600}}, {"3"}),
        ({"CAKE at 90 % then": {"page": 3.5}}, {"4"}),
        ({"FQ-CoDel with ECN at 98 % then": {"ms": 150}}, {"3", "14"}),
        (
            {
                "PIE at 98 % then": {"ms": 290},
                "DualPI2 at 98 % then": {"ms": 290},
                "PIE with ECN at 98 % then": {"ms": 290},
                "DualPI2 with ECN at 98 % then": {"ms": 290},
            },
            {"5"},
        ),
        ({"ARED in byte mode with ECN at 90 % then": {"ms": 1000}}, {"6"}),
        ({"ARED in byte mode at 90 % then": {"ms": 860}}, {"7"}),
        ({"ARED in packet mode at 70 % then": {"ms": 500}}, {"8"}),
        ({"drop-tail 50 ms at 90 % then": {"page": 2.1}}, {"9"}),
        ({"uncongested at 90 % then": {"ms": 150}}, {"10"}),
        ({"drop-tail 10 ms at 98 % then": {"ms": 300}}, {"11"}),
        ({"drop-tail 50 ms at 98 % then": {"page": 4.5}}, {"12"}),
        ({"DualPI2 with ECN at 105 % then": {"mbps": 90}}, {"13"}),
        ({"DualPI2 with L4S at 98 % then": {"ms": 360}}, {"14"}),
        ({"DualPI2 at 98 % then": {"ms": 550}}, {"15"}),
        ({"drop-tail 250 ms at 90 % now": {"ms": 450}}, {"16"}),
        ({"DualPI2 with L4S at 90 % now": {"ms": 450}}, {"16"}),
        ({"FQ-CoDel at 105 % now": {"ms": 800}}, {"17"}),
    ],
)
def test_a_claim_fails_with_runs_that_are_otherwise(
    good: Results, tmp_path: Path, changes: Mapping[str, Numbers], failing: set[str]
) -> None:
    found = outcomes(otherwise(good, tmp_path, changes))
    assert {number for number, outcome in found.items() if outcome != "holds"} == failing


def test_tables_and_figures_find_their_runs(good: Results) -> None:
    report = Report.from_results(STUDY, QUICK, good)
    check(report)
    assert set(STUDY.front) <= {each.name for each in report.tables} | {each.name for each in report.figures}
    throughputs = {table.name: {row[2] for row in table.rows} for table in report.tables if "numbers" in table.name}
    assert throughputs == {"numbers_then": {95.0}, "numbers_now": {900.0}}, "with users on one side, that of their data"


@pytest.mark.parametrize(("part", "claims"), [("then", range(1, 16)), ("now", range(16, 17))])
def test_a_part_decides_the_claims_about_its_link(good: Results, part: str, claims: range, tmp_path: Path) -> None:
    study = STUDY.only(part)
    names = [run.name for run in study.runs(QUICK)]
    assert names == [run.name for run in STUDY.runs(QUICK) if run.name.endswith(f" {part}")]
    report = Report.from_results(study, QUICK, {name: good[name] for name in names})
    check(report)
    assert [each.id for each in report.decisions] == [f"le2025-{number}" for number in claims]
    assert study.command(PLANNED) == f"aqmlab study le2025 --only {part}"
    made = Provenance(results=4, engines=["0.1.0"], cost={"cells": 2, "simulated_s": 40.0, "cpu_s": 1.0})
    report = replace(report, recorded=made)
    write_record(report, tmp_path / "record.json")
    restored = read_record(tmp_path / "record.json")
    assert restored.command == report.command
    assert "**Departures from [the plan](le2025-plan.md):**" in front(restored, "")


def test_there_are_two_parts() -> None:
    with pytest.raises(SpecError, match="--only: must be one of then, now, got 'later'"):
        STUDY.only("later")


def test_the_page_says_that_seeds_are_fewer_than_planned(good: Results) -> None:
    few = PLANNED.repeated(range(101, 104))
    assert "seeds are 101 to 103 in place of 101 to 110: processor time limited" in STUDY.departures(few)
    assert "claims 16, 17 are not decided" in STUDY.only("then").departures(PLANNED)
    other = PLANNED.repeated(range(1, 3))
    assert "limited" not in STUDY.departures(other)
    assert "try the study out" in STUDY.departures(QUICK)
