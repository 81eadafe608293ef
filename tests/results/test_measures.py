from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab._core import Resolved
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.results.measures import MeasuredRow, check_cells, read_measures
from aqmlab.results.measures.jain import jain, split_flows
from aqmlab.results.measures.rpm import round_trips_per_minute, trimmed_mean, with_probes
from aqmlab.results.measures.slowdown import SIZES, slowdowns
from aqmlab.running.run import run_cell
from aqmlab.store.store import Store
from conftest import Command

RECORDED = lab.Record(exchanges=True)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    """Users who congest a slow link, and the same without congestion."""
    experiment = lab.Experiment(
        link={"rate": "5 Mbit/s"},
        users={"per_side": 420},
        protocol=lab.Protocol(warmup="20 s", duration="2 min"),
        record=RECORDED,
    )
    out = tmp_path_factory.mktemp("compared")
    return lab.compare("droptail", "pi:q_ref=10", experiment=experiment, seeds=[1, 2], out=out)


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=50), st.floats(0.01, 100))
def test_jains_index_is_between_an_nth_and_one_whatever_the_unit(shares: list[float], unit: float) -> None:
    index = jain(shares)
    assert index is not None
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assert jain([unit * share for share in shares]) == pytest.approx(index)


def test_jains_index_of_k_of_n_who_share_alike_is_their_part() -> None:
    assert jain([3.0] * 4) == 1
    assert jain([3.0, 0.0, 0.0, 3.0, 3.0]) == pytest.approx(3 / 5)
    assert jain([0.0, 0.0]) is jain([]) is None


@given(st.floats(0.01, 1e5), st.floats(0.01, 1e5))
def test_responsiveness_is_the_drafts_mean_of_both_rates(foreign_ms: float, loaded_ms: float) -> None:
    # Foreign_Responsiveness and Loaded_Responsiveness, section "Aggregating the Measurements".
    rates = 60_000 / foreign_ms, 60_000 / loaded_ms
    assert round_trips_per_minute(foreign_ms, loaded_ms) == pytest.approx(sum(rates) / 2)


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=200))
def test_a_trimmed_mean_leaves_out_one_in_twenty_of_the_longest(times: list[float]) -> None:
    kept = sorted(times)[: math.floor(0.95 * (len(times) - 1)) + 1]
    mean = trimmed_mean(pl.Series(times))
    # Of equal ones all are kept.
    assert mean == pytest.approx(np.mean([time for time in times if time <= kept[-1]]))
    assert trimmed_mean(pl.Series([], dtype=pl.Float64)) is None


def test_probes_take_5_percent_of_capacity_up_to_100_a_second(small_cell: Cell) -> None:
    def rate(mbps: int) -> float:
        spec = json.loads(small_cell.spec.json)
        spec["link"]["rate"] = f"{mbps} Mbit/s"
        cell = dataclasses.replace(small_cell, spec=Resolved(json.dumps(spec)))
        (source,) = with_probes(cell).resolved["sources"]
        return float(source["transfers"]["rate_per_second"][0])

    # Of 5,000 bytes each, by the draft.
    assert [rate(mbps) for mbps in (2, 40, 80, 1000)] == pytest.approx([2.5, 50, 100, 100])


def test_users_do_the_same_beside_probes(small_cell: Cell, tmp_path: Path) -> None:
    with_rows = json.loads(small_cell.spec.json)
    with_rows["record"]["exchanges"] = True
    unprobed_cell = dataclasses.replace(small_cell, spec=Resolved(json.dumps(with_rows)))
    rows, probed_rows = (
        run_cell(cell, Store(tmp_path)).exchanges.filter(source=0) for cell in (unprobed_cell, with_probes(small_cell))
    )
    columns = ["side", "user", "connection", "request_bytes", "response_bytes"]
    assert len(rows.join(probed_rows, on=columns)) > 0.8 * len(rows)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, MeasuredRow]:
    """Long transfers over a slow link: the responsiveness under disciplines with one queue and with many."""
    experiment = lab.Experiment(
        link={"rate": "5 Mbit/s", "delay": "2 ms", "device_fifo": 0},
        users={"per_side": 0},
        sources=[{"bulk": {"flows": 4, "rtt": {"fixed": "20 ms"}}}],
        protocol=lab.Protocol(warmup="5 s", duration="30 s"),
    )
    schemes = ("droptail:limit=100", "fq_codel")
    out = tmp_path_factory.mktemp("filled")
    compared = lab.compare(*schemes, experiment=experiment, seeds=[1, 2], out=out)
    return {row["label"]: row for row in compared.measured("rpm")["rpm"]}


def test_probes_in_a_shared_queue_see_the_loads_sojourn_time(filled: dict[str, MeasuredRow]) -> None:
    droptail = filled["droptail:limit=100"]
    # 100 packets in frames of 1538 bytes are 246 ms; between losses the queue is a third to all of that.
    assert 40 < droptail["foreign"] < 250
    assert droptail["loaded"] == pytest.approx(droptail["foreign"], rel=0.1)
    assert droptail["p50"] <= droptail["p95"] <= droptail["p99"]


def test_where_flows_have_queues_probes_pass_what_fills_the_link(filled: dict[str, MeasuredRow]) -> None:
    fair = filled["fq_codel"]
    assert 4 < fair["foreign"] < 15
    assert fair["loaded"] > 2 * fair["foreign"]
    assert fair["rpm"] > 3 * filled["droptail:limit=100"]["rpm"]


def test_the_baselines_rpm_is_a_minute_over_the_base_rtt(
    compared: lab.Comparison,
) -> None:
    rows = {row["label"]: row for row in compared.measured("rpm")["rpm"]}
    # The link's delay is 500 us each way; a frame takes a microsecond.
    assert rows["uncongested"]["rpm"] == pytest.approx(60_000, rel=0.02)
    assert rows["droptail"]["loaded"] == rows["droptail"]["foreign"]


def test_each_request_has_one_twin_which_asked_for_the_same(compared: lab.Comparison) -> None:
    free, _, droptail, *_ = compared.results
    slowed = slowdowns(droptail, free)
    users = droptail.exchanges.filter(pl.col("source") == 0)
    # Those of the window's beginning and end have theirs outside of it.
    assert 0.9 * len(users) < len(slowed) < len(users)
    assert (slowed["slowdown"] >= 1).all()
    assert slowdowns(free, free)["slowdown"].unique().to_list() == [1.0]


def test_a_request_under_another_seed_is_no_twin(compared: lab.Comparison) -> None:
    free, _, _, other_seed, *_ = compared.results
    assert other_seed.cell.seed == 2
    assert len(slowdowns(other_seed, free)) < 0.001 * len(other_seed.exchanges)


def test_slowdowns_are_told_by_size(compared: lab.Comparison) -> None:
    rows = [row for row in compared.measured("slowdown")["slowdown"] if row["label"] == "droptail"]
    every, *classes = rows
    assert every["of"] == "all sizes"
    assert [row["of"] for row in classes][: len(SIZES)] == list(SIZES)
    assert sum(row["requests"] for row in classes) == every["requests"]
    for row in rows:
        assert row["p50"] <= row["p90"] <= row["p99"]


def test_fairness_is_that_of_what_users_fetched_and_of_sources(compared: lab.Comparison, tmp_path: Path) -> None:
    rows = compared.measured("jain")["jain"]
    assert {row["of"] for row in rows} == {"users' bytes fetched"}
    # Files of heavy-tailed sizes are not shared evenly by anybody's doing.
    assert all(0 < row["jain"] < 0.5 for row in rows)
    bulk = [{"bulk": {"name": name, "flows": flows, "direction": "upload"}} for name, flows in (("one", 1), ("two", 4))]
    experiment = lab.Experiment(
        testbed="unc-2003",
        link={"rate": "5 Mbit/s"},
        users={"per_side": 0},
        sources=bulk,
        protocol=lab.Protocol(warmup="5 s", duration="30 s"),
    )
    (row,) = lab.compare("droptail", experiment=experiment, seeds=[1], out=tmp_path).measured("jain")["jain"]
    # Five flows alike, not two sources one of which has four times as much.
    assert row["of"] == "flows' goodput"
    assert row["jain"] > 0.9


def test_each_flow_is_its_own_source_on_its_sources_hosts() -> None:
    sources = [
        {"bulk": {"name": "up", "flows": 3, "direction": "upload"}},
        {"transfers": {"rate_per_second": [1, 0], "size": {"fixed": "1 kB"}}},
        {"on_off": {"flows": 2, "size": {"fixed": "1 kB"}, "off": {"fixed": "1 s"}}},
    ]
    experiment = lab.Experiment(
        tcp={"mix": [{"share": 0.5, "source": "up", "profile": "linux-6"}]}, users={"per_side": 5}, sources=sources
    )
    (cell,) = cells_of(experiment, [1])
    separate = split_flows(cell).resolved
    names = [next(iter(source.values()))["name"] for source in separate["sources"] if "transfers" not in source]
    assert names == ["up #1", "up #2", "up #3", "on_off #1", "on_off #2"]
    assert [hosts["source"] for hosts in separate["tcp"]["mix"]] == names[:3]
    assert {next(iter(source.values())).get("flows") for source in separate["sources"]} == {1, None}
    assert split_flows(split_flows(cell)).key == split_flows(cell).key


def test_more_flows_than_can_be_told_apart_are_refused(tmp_path: Path) -> None:
    bulk = {"bulk": {"flows": 2000}}
    experiment = lab.Experiment(users={"per_side": 0}, sources=[bulk], record=RECORDED)
    (cell,) = cells_of(experiment, [1])
    with pytest.raises(lab.SpecError, match=r"^measures: jain needs at most 1,000 flows, of 2,000$"):
        check_cells(read_measures(["jain"]), [cell])


def test_the_command_shows_measures_on_request(aqmlab: Command) -> None:
    brief = ("--users", "100", "--warmup", "2 s", "--duration", "20 s", "--seeds", "1", "--no-figures", "codel")
    outcome = aqmlab("compare", *brief, "--measures", "slowdown, jain,rpm")
    for title in ("Slowdown of web users' requests", "Fairness, Jain's index", "Responsiveness over the link"):
        assert title in outcome.out
    record = json.loads(aqmlab("compare", *brief, "--measures", "rpm,slowdown", "--json").out)["measures"]
    assert list(record) == ["rpm", "slowdown"]
    assert {row["label"] for row in record["slowdown"]} == {"codel"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--measures", "speed"), "measures: no number is called 'speed'; there are loss, marks, "),
        (("--measures", "slowdown", "--no-baseline"), "measures: slowdown needs the uncongested network"),
        (("--measures", "step"), "measures: step needs a change of a rate, or a source that starts or stops"),
    ],
)
def test_a_measure_that_cannot_be_had_is_one_line(aqmlab: Command, arguments: tuple[str, ...], reason: str) -> None:
    outcome = aqmlab("compare", "pi", "--users", "20", *arguments)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert reason in outcome.err


def test_requests_of_a_version_without_users_are_refused(compared: lab.Comparison, tmp_path: Path) -> None:
    old = dataclasses.replace(compared.results[0], location=tmp_path, files={})
    compared.results[0].exchanges.drop("user", "connection").write_parquet(tmp_path / "exchanges.parquet")
    with pytest.raises(lab.SpecError, match=r"^measures: .* is of a version whose exchanges have no column user"):
        slowdowns(old, compared.results[0])


def test_users_without_rows_of_their_requests_are_refused(small: lab.Experiment, tmp_path: Path) -> None:
    brief = small.model_copy(update={"protocol": lab.Protocol(warmup="1 s", duration="5 s")})
    with pytest.raises(lab.SpecError, match=r"^record\.exchanges: must be true"):
        lab.compare("pi", experiment=brief, seeds=[1], out=tmp_path).measured("jain")
