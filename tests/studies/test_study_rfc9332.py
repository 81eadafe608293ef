"""The study of RFC 9332: its claims, held against results that were made up to keep them, and to break one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fixtures.study
from aqmlab.cells.cell import Cell
from aqmlab.store.result import Result
from aqmlab.studies.kit.decisions import decide
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.study import Length, study_cells
from aqmlab.studies.rfc9332 import STUDY, claims
from fixtures.study import check

Numbers = Mapping[str, float]
"""Made-up runs that deviate from the expected one."""

QUICK = STUDY.lengths["quick"]


def summary(run: str, sources: Mapping[str, int], numbers: Numbers) -> dict[str, Any]:
    """Return a summary in which all is as the claims have it: each flow gets 2 Mbit/s, what is lost is Classic."""
    uncoupled = run.startswith("uncoupled")
    mbps = {name: numbers.get(name, 0.5 if uncoupled and name == "Classic" else 2.0) for name in sources}
    delays = {"L4S": numbers.get("L4S delay", 0.5), "Classic": numbers.get("Classic delay", 15.0)}
    p99 = {"L4S": numbers.get("p99", 1.5), "Classic": 30.0}
    data = {
        "direction": 1,
        "utilisation": numbers.get("utilisation", 0.97),
        "queue_delay_ms": {"mean": 15.0},
        "classes": [
            {"name": name, "queue_delay_ms": {"mean": delays[name], "p99": p99[name]}}
            for name in ("Classic", "L4S")
            if run.startswith(("dual", "mix", "web"))
        ],
    }
    acknowledgements = {"direction": 0, "utilisation": 0.02, "queue_delay_ms": {"mean": 0.0}, "classes": []}
    return {
        "directions": [acknowledgements, data],
        "sources": [
            {
                "name": name,
                "goodput_mbps": flows * mbps[name],
                "packets_sent": 1000,
                "packets_lost": int(numbers.get(f"{name} lost", 0 if name.startswith("L4S") else 10)),
                "response_time_ms": {},
            }
            for name, flows in sources.items()
        ],
    }


def write(run: str, cells: Sequence[Cell], directory: Path, numbers: Mapping[str, float]) -> list[Result]:
    return fixtures.study.write(run, cells, directory, lambda run, flows: summary(run, flows, numbers))


Results = dict[str, list[Result]]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Results:
    directory = tmp_path_factory.mktemp("good")
    return {run: write(run, cells, directory, {}) for run, cells in study_cells(STUDY, QUICK, {}).items()}


def otherwise(good: Results, run: str, directory: Path, numbers: Numbers) -> Results:
    return {**good, run: write(run, [result.cell for result in good[run]], directory, numbers)}


def outcomes(results: Results) -> dict[str, str]:
    return {each.id.removeprefix("RFC9332-"): str(each.conclusion.outcome) for each in decide(STUDY, results)}


def test_claims_use_all_runs() -> None:
    used = {run for claim in STUDY.claims for part in claim.parts for run in part.runs}
    assert used == {run.name for run in STUDY.runs(QUICK)}


def test_all_hold_where_all_is_as_they_say(good: Results) -> None:
    assert outcomes(good) == {str(number): "holds" for number in range(1, 10)}


def test_tables_and_figures_find_their_runs(good: Results) -> None:
    check(Report.from_results(STUDY, QUICK, good))


HALF_AS_MUCH, SLOW, MIX, WEB = claims.dual(120, 10), claims.dual(4, 10), claims.mix(2, 8), claims.web(50)


@pytest.mark.parametrize(
    ("run", "numbers", "failing"),
    [
        (HALF_AS_MUCH, {"L4S": 1.0}, {"1"}),
        (HALF_AS_MUCH, {"Classic": 1.0}, {"1", "8"}),
        (MIX, {"L4S": 1.0}, {"2"}),
        (HALF_AS_MUCH, {"L4S delay": 1.1}, {"3"}),
        (SLOW, {"L4S delay": 6.1, "p99": 20.0}, set()),
        (SLOW, {"L4S delay": 6.2}, {"3"}),
        (HALF_AS_MUCH, {"p99": 2.1}, {"4"}),
        (WEB, {"p99": 2.1}, {"5"}),
        (WEB, {"L4S short lost": 1}, {"6"}),
        (SLOW, {"utilisation": 0.94}, {"7"}),
        (HALF_AS_MUCH, {"Classic delay": 16.0}, {"8"}),
        (claims.uncoupled(12, 50), {"Classic": 0.6}, {"9"}),
    ],
)
def test_a_claim_fails_with_one_run_that_is_otherwise(
    good: Results, tmp_path: Path, run: str, numbers: Numbers, failing: set[str]
) -> None:
    found = outcomes(otherwise(good, run, tmp_path, numbers))
    assert {number for number, outcome in found.items() if outcome != "holds"} == failing


def test_the_share_of_a_flow_is_independent_of_the_count(good: Results, tmp_path: Path) -> None:
    run = claims.mix(1, 9)
    (result, *_) = otherwise(good, run, tmp_path, {"L4S": 6.0})[run]
    assert claims.share_percent(flows=(1, 9))(result) == pytest.approx(75)
    assert claims.share_percent("Classic", "L4S", flows=(9, 1))(result) == pytest.approx(25)


def test_on_slow_links_two_packets_may_wait() -> None:
    assert claims.most_delay_ms(4) == pytest.approx(2 * 8 * 1538 / 4e3)
    assert claims.most_delay_ms(40) == 1.0
    assert {rate for rate, _ in claims.FAST} == {40, 120, 200}


def test_single_queues_have_the_controller_of_the_dual_one() -> None:
    runs = {run.name: run.experiment for run in STUDY.runs(QUICK)}
    dual, single = (runs[name(120, 10)].queue.parameters for name in (claims.dual, claims.single))
    assert {key: single[key] for key in single.keys() & dual.keys()} == {
        key: dual[key] for key in single if key in dual
    }
    assert {"target", "t_update", "alpha", "beta", "limit"} <= single.keys()
    assert runs[claims.uncoupled(120, 10)].tcp.ecn is True


def test_over_a_kernel_dctcp_takes_the_place_of_prague() -> None:
    assert isinstance(STUDY.kernel_length, Length)
    identifiers = set()
    for prague, dctcp in zip(STUDY.runs(QUICK), STUDY.kernel_runs(QUICK), strict=True):
        assert prague.name == dctcp.name
        of_prague, of_dctcp = (
            [it["congestion"] for it in run.experiment.tcp.model_dump()["mix"]] for run in (prague, dctcp)
        )
        assert {*of_prague} <= {"prague"}
        assert of_dctcp == ["dctcp"] * len(of_prague)
        identifiers.add(tuple(run.experiment.queue.parameters.get("identifier") for run in (prague, dctcp)))
    # DCTCP sends ECT(0), which goes to the L4S queue only if the identifier says so; PI2 has one queue.
    assert identifiers == {("l4s_ect", "any_ect"), (None, None)}
