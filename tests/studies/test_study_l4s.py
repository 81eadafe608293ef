"""The study of L4S beside classic traffic: its runs, its claims and its measures of harm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import fixtures.results
from aqmlab.cells.cell import Cell
from aqmlab.store.result import Result
from aqmlab.studies.kit.decisions import decide
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.study import study_cells
from aqmlab.studies.l4s import STUDY, matrix, measures
from fixtures.study import check

QUICK = STUDY.lengths["quick"]

Results = dict[str, list[Result]]


def write(cells: Sequence[Cell], directory: Path, mbps: Sequence[float] = (2.0, 2.0)) -> list[Result]:
    """Write results in which each flow of a source has the same rate, the delay is 1 ms, and nothing is lost."""
    results = []
    for cell in cells:
        tables = [source["bulk"] for source in cell.resolved["sources"]]
        sources = [
            {
                "name": table["name"],
                "goodput_mbps": table["flows"] * rate,
                "packets_sent": 1000,
                "packets_lost": 0,
                "queue_delay_ms_each_way": [{"mean": 0.0, "p99": 0.0}, {"mean": 0.9, "p99": 1.0}],
            }
            for table, rate in zip(tables, mbps, strict=False)
        ]
        summary = {"directions": [{"utilisation": 0.02}, {"utilisation": 1.0}], "sources": sources}
        results.append(Result(cell, fixtures.results.write(directory / cell.key, summary=summary)))
    return results


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> Results:
    directory = tmp_path_factory.mktemp("equal")
    return {run: write(cells, directory) for run, cells in study_cells(STUDY, QUICK, {}).items()}


def outcomes(results: Results) -> dict[str, str]:
    return {each.id.removeprefix("L4S-"): str(each.conclusion.outcome) for each in decide(STUDY, results)}


def test_claims_of_equal_shares_hold_where_all_are_equal(equal: Results) -> None:
    found = outcomes(equal)
    assert {id_ for id_, outcome in found.items() if outcome == "holds"} == {"1", "2", "4", "8", "9", "10", "13", "14"}


def test_tables_and_figures_find_their_runs(equal: Results) -> None:
    check(Report.from_results(STUDY, QUICK, equal))


@pytest.mark.parametrize(
    ("run", "mbps", "fails"),
    [
        ("Prague + Reno/FIFO/100 Mbit/s, 10 ms, 2 BDP", (1.0, 2.0), {"1"}),
        ("Prague + CUBIC/CAKE/100 Mbit/s, 80 ms, 2 BDP", (1.0, 2.0), {"2"}),
        ("10 Prague + CUBIC/DualPI2/100 Mbit/s, 10 ms, 2 BDP", (0.5, 2.0), {"4"}),
        ("Prague + CUBIC/PIE/100 Mbit/s, 10 ms, 2 BDP", (2.0, 1.8), {"8"}),
        ("Prague + CUBIC/PIE/100 Mbit/s, 10 ms, 8 BDP", (2.0, 1.0), {"13"}),
    ],
)
def test_a_claim_fails_with_one_run_that_is_otherwise(
    run: str, mbps: tuple[float, float], fails: set[str], equal: Results, tmp_path: Path
) -> None:
    before = outcomes(equal)
    found = outcomes({**equal, run: write([result.cell for result in equal[run]], tmp_path, mbps)})
    assert {id_ for id_ in found if found[id_] != before[id_]} == fails


def test_harm_is_relative_to_the_solo_run(equal: Results, tmp_path: Path) -> None:
    place = "CAKE/100 Mbit/s, 10 ms, 2 BDP"
    (solo, *_), (shared, *_) = equal[f"CUBIC alone/{place}"], equal[f"Prague + CUBIC/{place}"]
    (half, *_) = write([shared.cell], tmp_path, (2.0, 1.0))
    assert measures.harm_to_goodput("CUBIC", solo, half) == pytest.approx(0.5)
    assert measures.harm_to_goodput("Prague", equal[f"Prague alone/{place}"][0], half) == 0
    assert measures.harm_to_delay("CUBIC", solo, half) == 0
    assert measures.harm_to_loss("CUBIC", solo, half) == 0


def test_the_buffer_is_in_products_of_bandwidth_and_delay() -> None:
    point = matrix.Point(rate_mbps=100, rtts_ms=(10, 10), buffer_bdp=1)
    limits = {queue.name: queue.table(point.buffer_bytes)[queue.law].get("limit") for queue in matrix.QUEUES}
    # Sarpkaya et al. 2025: a product of 125,000 bytes, and floor(bytes / 1500) + 1 packets.
    assert (limits["FIFO"], limits["CoDel"], limits["DualPI2"]) == ("125000 B", "84 packets", None)


def test_the_full_length_has_the_whole_matrix() -> None:
    names = {case.name for case in matrix.cases("full")}
    assert "Reno + Reno/PIE, ECN/10 Mbit/s, 80 and 10 ms, 8 BDP" in names
    assert "25 Prague + 2 CUBIC/CAKE/100 Mbit/s, 10 ms, 2 BDP" in names
    assert not any("DualPI2" in name and name.endswith(" 8 BDP") for name in names)
