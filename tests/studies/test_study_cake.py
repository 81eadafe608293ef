"""The study of CAKE: its claims, held against results that were made up to keep them, and to break one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fixtures.study
from aqmlab.cells.cell import Cell
from aqmlab.store.result import Result
from aqmlab.studies.cake import STUDY, claims
from aqmlab.studies.kit.decisions import decide
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.study import study_cells
from fixtures.study import check

QUICK = STUDY.lengths["quick"]

HOSTS = {
    "fq_codel": (1, 1, 1, 1, 1),
    "flows": (1, 1, 1, 1, 1),
    "dual-srchost": (1, 1, 1, 2, 2),
    "dual-dsthost": (3, 3, 1, 1, 3),
    "triple-isolate": (3, 3, 3, 4, 6),
}
"""The rate of one flow between each pair of hosts."""

FILTERS = {"no-ack-filter": 1.0, "ack-filter": 1.1, "ack-filter-aggressive": 1.1}


def goodput(run: str, source: str, flows: int) -> float:
    """Return what a source has where all is as the claims say."""
    kind, word = run.split("/")
    if kind == "hosts":
        names = [claims.between(pair) for pair in claims.FLOWS]
        return flows * float(HOSTS[word][names.index(source)])
    if kind == "tins" and word == "diffserv4":
        return {"CS1": 0.6, "DF": 7.0, "CS5": 1.2, "EF": 1.2}[source]
    return 5 * FILTERS[word] if kind == "acks" else 2.0


def delay_ms(run: str) -> float:
    """Return the delay of a stream or a call where all is as the claims say."""
    word = run.split("/")[1]
    waits = word in ("fq_codel", "besteffort", "raw 95") or run == "small/raw 85"
    return 200.0 if waits else 20.0


def summary(run: str, sources: Mapping[str, int], numbers: Mapping[str, float]) -> dict[str, Any]:
    return {
        "directions": [{"direction": number, "utilisation": numbers.get("utilisation", 0.99)} for number in (0, 1)],
        "sources": [
            {
                "name": name,
                "goodput_mbps": numbers.get(name, goodput(run, name, flows)),
                "packets_sent": 1000,
                "packets_lost": numbers.get("lost", 0),
                "datagrams": {"delay_ms_p99": numbers.get("delay", delay_ms(run))},
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


def outcomes(results: Results) -> dict[str, str]:
    return {each.id.removeprefix("CAKE-"): str(each.conclusion.outcome) for each in decide(STUDY, results)}


def test_claims_use_all_runs() -> None:
    used = {run for claim in STUDY.claims for part in claim.parts for run in part.runs}
    assert used == {run.name for run in STUDY.runs(QUICK)}


def test_all_hold_where_all_is_as_they_say(good: Results) -> None:
    assert outcomes(good) == {str(number): "holds" for number in range(1, 12)}


def test_tables_and_figures_find_their_runs(good: Results) -> None:
    check(Report.from_results(STUDY, QUICK, good))


@pytest.mark.parametrize(
    ("run", "numbers", "failing"),
    [
        ("hosts/flows", {"A to a": 1.5}, {"1"}),
        ("hosts/dual-srchost", {"B to d": 3.0}, {"2"}),
        ("hosts/dual-dsthost", {"A to c": 4.0}, {"3"}),
        ("hosts/triple-isolate", {"B to d": 3.0}, {"4"}),
        ("tins/diffserv4", {"EF": 3.0}, {"5"}),
        ("alone/CS1", {"utilisation": 0.9}, {"6"}),
        ("stream/diffserv4", {"lost": 1}, {"7"}),
        ("stream/besteffort", {"delay": 30.0}, {"7"}),
        ("acks/ack-filter", {"uploads": 4.9}, {"8"}),
        ("acks/no-ack-filter", {"downloads": 6.0}, {"8"}),
        ("frames/pppoe-llcsnap 95", {"delay": 60.0}, {"9"}),
        ("small/raw 85", {"delay": 40.0}, {"10"}),
        ("tins/besteffort", {"CS1": 1.0}, {"11"}),
    ],
)
def test_a_claim_fails_with_one_run_that_is_otherwise(
    good: Results, tmp_path: Path, run: str, numbers: Mapping[str, float], failing: set[str]
) -> None:
    found = outcomes({**good, run: write(run, [result.cell for result in good[run]], tmp_path, numbers)})
    assert {number for number, outcome in found.items() if outcome != "holds"} == failing


def test_the_word_for_the_line_counts_whole_cells() -> None:
    runs = {run.name: run.experiment for run in STUDY.runs(QUICK)}
    experiment = runs["frames/pppoe-llcsnap 95"]
    assert experiment.queue.parameters == {"bandwidth": "950 kbit/s", "link_layer": "pppoe-llcsnap"}
    assert experiment.link.rate["up"] == {"atm": {"rate": "1000 kbit/s"}}  # type: ignore[union-attr, index]
    assert experiment.link.overhead == "40 B"  # type: ignore[union-attr]
