from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fixtures.metadata
import fixtures.results
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import Cell
from aqmlab.models import plot
from aqmlab.models.batch_queue import BatchQueue, burst_sizes
from aqmlab.storage.integrity import finalize
from aqmlab.store.result import Result
from aqmlab.studies.kit.report import Report
from aqmlab.studies.kit.study import StudyResults, Table, study_cells
from aqmlab.studies.kuzmanovic2005 import Kuzmanovic2005, measures, names, runs
from fixtures.study import check

STUDY = Kuzmanovic2005()
QUICK = STUDY.lengths["quick"]

EDGES_MS = np.geomspace(1, 1e5, 400)


@cache
def cells(length: str) -> dict[str, list[Cell]]:
    return study_cells(STUDY, STUDY.lengths[length], calibration_model.load_calibrations())


def made_up(directory: Path, *, mbps: float = 80.0, median_ms: float = 150.0, waiting: int = 10) -> Path:
    """Write what a cell of the quick length might have given: the data's direction is at 80 %."""
    share = 1 / (1 + (median_ms / EDGES_MS) ** 2)
    count = np.diff(1e6 * share).round().astype(np.uint64)
    times = dict.fromkeys(("p10", "p25", "p50", "p75", "p90", "p95", "p99", "mean"), median_ms)
    numbers = {"loss_percent": 1.0, "mark_percent": 2.0, "throughput_mbps": mbps, "queue_packets_mean": 20.0}
    sent = 0.8 * 90 * measures.PACKETS_PER_SECOND * measures.PACKET_BYTES
    tables = {
        "response_times": pl.DataFrame({"time_low_ms": EDGES_MS[:-1], "time_high_ms": EDGES_MS[1:], "count": count}),
        "queue": pl.DataFrame({"direction": [0, 1, 0, 1], "bytes": [0, 1000 * waiting, 0, 1000 * waiting]}),
        "link": pl.DataFrame({"direction": [0, 1, 1], "bytes": [0, round(sent) - 7, 7]}),
        "exchanges": pl.DataFrame(
            {"first_on_connection": [True, True, True, True, False], "syn_retransmits": [0, 0, 2, 0, 1]}
        ),
    }
    fixtures.results.write(directory, summary={"directions": [{}, numbers], "response_time_ms": times}, **tables)
    finalize(directory, {**fixtures.metadata.PLAIN, "simulated_s": 110, "engine": "0.1.0+abc", "commit": None})
    return directory


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """Results in which ECN+ carries a tenth more than ECN."""
    folder = tmp_path_factory.mktemp("made-up")
    carried = {"drop": 40, "ECN": 50, "ECN+": 55, "other": 60}
    directories = {form: made_up(folder / form, mbps=mbps) for form, mbps in carried.items()}

    def form(name: str) -> str:
        return next((word for word in name.split() if word in carried), "other")

    return {name: [Result(cell, directories[form(name)]) for cell in some] for name, some in cells("quick").items()}


@pytest.fixture(scope="module")
def tables(results: StudyResults) -> Mapping[str, Table]:
    return {table.name: table for table in STUDY.tables(results)}


@pytest.mark.parametrize("length", ["quick", "default", "full"])
def test_recorded_experiments_are_short_at_every_length(length: str) -> None:
    short = {name for name, some in cells(length).items() if some[0].resolved["protocol"]["duration"] == "120 s"}
    assert short == {name for name in cells(length) if name.endswith("recorded")}


def test_claims_tables_and_figures_find_their_results(results: StudyResults) -> None:
    report = Report.from_results(STUDY, QUICK, results)
    check(report)


def test_all_schemes_have_the_users_of_their_load() -> None:
    for load in names.LOADS:
        users = {
            some[0].users_per_side
            for name, some in cells("quick").items()
            if str(load) in name.split() and some[0].users_per_side
        }
        assert len(users) == 1


def test_users_have_the_papers_windows_and_initial_rto() -> None:
    for name in (names.scheme("REM", "ECN+", 105), names.uncongested(90)):
        tcp = cells("quick")[name][0].resolved["tcp"]
        assert [(each["share"], each["receive_window"]) for each in tcp["mix"]] == [
            (0.2, 8192),
            (0.35, 16_384),
            (0.45, 65_535),
        ]
        assert {(each["role"], each["initial_window"], each["initial_rto"]) for each in tcp["mix"]} == {
            ("client", 2, "6 s")
        }
        assert {tcp["ecn"], *(each["ecn"] for each in tcp["mix"])} == {"ecn+" if "ECN+" in name else False}


def test_flows_one_way_overload_one_direction_under_every_aqm() -> None:
    for law in names.LAWS:
        for form in names.FORMS:
            resolved = cells("full")[names.one_way(law, form)][0].resolved
            rates = np.array([each["transfers"]["rate_per_second"] for each in resolved["sources"]]).sum(axis=0)
            assert rates * runs.mean_web_bytes() == pytest.approx([1.05 * 12.5e6, 0])
            assert resolved["protocol"]["duration"] == "90 s"
            assert resolved["tcp"]["ecn"] == {"drop": False, "ECN": True, "ECN+": "ecn+"}[form]


def test_red_star_without_ecn_is_red() -> None:
    for load in names.LOADS:
        red, red_star = (cells("quick")[names.scheme(law, "drop", load)] for law in ("RED", "RED*"))
        assert [each.key for each in red] == [each.key for each in red_star]
        assert cells("quick")[names.scheme("RED*", "ECN", load)][0].scheme == "red_star"


def test_links_are_ideal_and_bursts_arrive_at_once() -> None:
    for name, some in cells("quick").items():
        resolved = some[0].resolved
        if name.startswith("uncongested"):
            assert resolved["link"]["rate"] == "1 Gbit/s", name
            continue
        assert (resolved["link"]["overhead"], resolved["link"]["device_fifo"]) == ("0 B", 0), name
        assert resolved["link"]["rate"] == "100 Mbit/s", name
        if not some[0].users_per_side:
            assert resolved["hosts"]["rate"] == "10 Gbit/s", name


@pytest.mark.parametrize("packets", [1, 7, 70])
def test_equal_flows_are_whole_packets_and_ask_for_80_percent(packets: int) -> None:
    (source,) = cells("quick")[names.equal_flows(packets)][0].resolved["sources"]
    assert source["transfers"]["size"] == {"fixed": f"{960 * packets} B"}
    # SYN/ACK, two acknowledgements and FIN beside the data.
    assert source["transfers"]["rate_per_second"][0] * (1000 * packets + 160) == pytest.approx(0.8 * 12.5e6)
    assert source["transfers"]["rate_per_second"][1] == 0


def test_web_flows_have_the_sizes_of_the_users_responses() -> None:
    # Pages have 5.2 objects each. A page's frame is at most 1,350 B in half of them; of its objects 0.5 are up to
    # 930 B and 0.6 up to 1,570 B, with ln(size) linear in -ln(1 - u) between.
    bursts = runs.web_bursts()
    assert bursts.sum() == pytest.approx(1)
    objects = 5.2
    rate = np.log(1350 / 930) / np.log(1570 / 930)
    embedded = 1 - 0.5 * (0.4 / 0.5) ** rate
    assert 0.5 < embedded < 0.6
    sizes, shares = runs.web_sizes()
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert shares[sizes <= 1350].sum() == pytest.approx((0.5 + objects * embedded) / (1 + objects), abs=2e-3)
    assert runs.mean_web_bytes() == pytest.approx((20_900 + objects * 6080) / (1 + objects) + 530, rel=0.02)


def test_web_flows_ask_for_what_they_are_called_after() -> None:
    for percent in names.UTILISATIONS:
        sources = cells("quick")[names.web_flows(percent)][0].resolved["sources"]
        flows = sum(each["transfers"]["rate_per_second"][0] for each in sources)
        assert flows * runs.mean_web_bytes() == pytest.approx(percent / 100 * 12.5e6)


def test_the_queue_counts_the_packet_that_is_being_sent(results: StudyResults) -> None:
    (result, *_) = results[names.equal_flows(7)]
    assert measures.utilisation(result) == pytest.approx(0.8)
    assert measures.queue_packets(result) == pytest.approx(10.8)
    assert measures.above(result, 10) == 1
    assert measures.above(result, 11) == 0


def test_a_simulation_is_held_against_the_model_of_its_flows(results: StudyResults) -> None:
    for packets in (7, 62):
        bursts = burst_sizes([packets], windows={8: 0.2, 17: 0.35, 68: 0.45})
        model = BatchQueue(bursts=bursts, utilisation=0.8).mean_packets
        (result, *_) = results[names.equal_flows(packets)]
        assert measures.model_packets(result) == pytest.approx(model)


def test_the_delay_of_a_queue_is_its_time_on_the_link(results: StudyResults) -> None:
    (result, *_) = results[names.equal_flows(7)]
    assert measures.queue_ms(result) == pytest.approx(10.8 * 0.08)


def test_table_1_has_ecn_plus_gains_and_blanks_missing_rows(tables: Mapping[str, Table]) -> None:
    table = tables["throughput"]
    rows = {(row[0], row[1]): dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows["uncongested", 105]["no ECN, % (ours)"] == 60
    assert rows["RED*", 105]["no ECN, % (ours)"] == 40
    assert rows["RED*", 105]["ECN, % (ours)"] == 50
    assert rows["RED*", 105]["ECN+, % (ours)"] == 55
    assert rows["RED*", 105]["ECN+ over ECN, %"] == pytest.approx(10)
    published = {
        (key, column): value
        for key, row in rows.items()
        for column, value in row.items()
        if "published" in column and value is not None
    }
    assert published == {
        (("PI", 90), "no ECN, % (published)"): 86.09,
        (("PI", 90), "ECN, % (published)"): 86.37,
        (("PI", 90), "ECN+, % (published)"): 86.56,
        (("PI", 105), "ECN, % (published)"): 99.76,
        (("PI", 105), "ECN+, % (published)"): 99.89,
        (("RED", 90), "ECN, % (published)"): 84.91,
        (("RED", 90), "ECN+, % (published)"): 85.11,
        (("RED", 105), "ECN, % (published)"): 94.65,
        (("RED", 105), "ECN+, % (published)"): 95.02,
        (("threshold", 90), "ECN+, % (published)"): 85.05,
    }


def test_handshakes_are_those_of_new_connections(tables: Mapping[str, Table]) -> None:
    assert {tuple(row[2:]) for row in tables["handshakes"].rows} == {(25, 25)}


def test_the_model_is_shown_two_ways_that_agree(tables: Mapping[str, Table]) -> None:
    table = tables["mean-queue"]
    for row in table.rows:
        numbers = dict(zip(table.columns, row, strict=True))
        assert numbers["E[Q], chain"] == pytest.approx(numbers["E[Q], equation 1"], rel=1e-6)
    seven = next(row for row in table.rows if row[0] == 7)
    # 7 packets as 2, 4 and 1.
    assert seven[1:4] == pytest.approx([7 / 3, 21 / 3, 4 * (7 + 21) / (2 * 7)])


def test_mean_queues_are_lines_and_points_with_intervals() -> None:
    axis: Axes = Figure().subplots()
    curve = pl.DataFrame({"flow_packets": [1, 2], "mean": [4.0, 6.0]})
    points = pl.DataFrame({"flow_packets": [2], "mean": [5.0], "low": [4.5], "high": [5.5]})
    plot.means(axis, {"model": curve}, simulated={"simulated": points})
    line, dots = axis.get_lines()
    assert line.get_ydata() == pytest.approx([4, 6])
    assert dots.get_ydata() == pytest.approx([5])
    (bars,) = axis.collections
    assert bars.get_paths()[0].vertices == pytest.approx(np.array([[2, 4.5], [2, 5.5]]))
