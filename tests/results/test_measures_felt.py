"""Page-load times, harm, outcomes and the answer to a step: each against an answer worked out by hand, and in a run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.results.measures.harm import harm_if_less_is_better, harm_if_more_is_better, harms, solo_cells
from aqmlab.results.measures.measure import over_seeds
from aqmlab.results.measures.outcome import PROFILES, outcome
from aqmlab.results.measures.page import pages
from aqmlab.results.measures.step import step_response, steps
from aqmlab.running.run import run_cell
from aqmlab.store.store import Store
from conftest import Command

BULK: list[dict[str, Any]] = [{"bulk": {"flows": 4, "rtt": {"fixed": "20 ms"}}}]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    """Users and long transfers to them over a slow link, under two disciplines."""
    experiment = lab.Experiment(
        link={"rate": "5 Mbit/s", "device_fifo": 0},
        users={"per_side": 100},
        sources=BULK,
        protocol=lab.Protocol(warmup="5 s", duration="60 s"),
        record=lab.Record(exchanges=True),
    )
    out = tmp_path_factory.mktemp("shared")
    return lab.compare("droptail:limit=200", "codel", experiment=experiment, seeds=[1, 2], out=out)


@pytest.fixture(scope="module")
def halved(tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    """Long transfers over a link whose rate halves, under two disciplines."""
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s", "device_fifo": 0, "rate_changes": [{"at": "20 s", "rate": "5 Mbit/s"}]},
        tcp={"profile": "linux-6"},
        users={"per_side": 0},
        sources=BULK,
        protocol=lab.Protocol(warmup="5 s", duration="45 s"),
    )
    out = tmp_path_factory.mktemp("halved")
    return lab.compare("droptail:limit=200", "codel", experiment=experiment, seeds=[1, 2], out=out)


def exchanges(*rows: tuple[int, float, float, bool]) -> Any:
    """Make up a result of web users' requests: user, start in seconds, response time in milliseconds, a page itself?"""
    names = ("user", "start_s", "response_time_ms", "top_level")
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(side=0, source=0)
    return SimpleNamespace(exchanges=frame, directory=Path("made-up"))


def test_a_page_lasts_from_first_request_to_last_response() -> None:
    made_up = exchanges(
        (1, 4.0, 100.0, False),  # of a page that began before there were rows
        (1, 10.0, 500.0, True),
        (1, 10.5, 2000.0, False),  # the last to end, though not the last to begin
        (1, 11.0, 250.0, False),
        (1, 20.0, 300.0, True),  # a page of one object
        (1, 30.0, 100.0, True),  # perhaps unfinished
        (2, 10.2, 400.0, True),  # another user's only page
    )
    whole = pages(made_up)
    assert whole.select("user", "start_s", "requests").rows() == [(1, 10.0, 3), (1, 20.0, 1)]
    assert whole["load_time_ms"].to_list() == pytest.approx([2500.0, 300.0])


def test_a_page_takes_between_its_longest_request_and_their_sum(shared: lab.Comparison) -> None:
    result = shared.results[0]
    whole = pages(result)
    requests = result.exchanges.filter(pl.col("source") == 0)
    inside = requests.join(whole, on=["side", "user"], suffix="_page").filter(
        (pl.col("start_s") >= pl.col("start_s_page"))
        & (pl.col("start_s") <= pl.col("start_s_page") + pl.col("load_time_ms") / 1000)
    )
    page_requests = inside.group_by("side", "user", "start_s_page").agg(
        pl.len(),
        pl.col("requests", "load_time_ms").first(),
        longest=pl.col("response_time_ms").max(),
        all=pl.col("response_time_ms").sum(),
        heads=pl.col("top_level").sum(),
    )
    assert len(page_requests) == len(whole) > 100
    # By the times alone, without a look at where the next page begins, the same requests are the page's.
    assert (page_requests["len"] == page_requests["requests"]).all()
    assert (page_requests["heads"] == 1).all()
    assert (page_requests["load_time_ms"] >= page_requests["longest"] - 1e-6).all()
    # A user always waits for something until the page is there.
    assert (page_requests["load_time_ms"] <= page_requests["all"] + 1e-6).all()


def test_pages_load_faster_behind_a_shorter_queue(shared: lab.Comparison) -> None:
    rows = {row["label"]: row for row in shared.measured("page")["page"]}
    assert rows["codel"]["p50"] < rows["droptail:limit=200"]["p50"]
    assert rows["codel"]["p50"] <= rows["codel"]["p90"] <= rows["codel"]["p99"]


@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6))
def test_harm_is_nought_for_the_same_and_one_for_all_there_was(value: float, other_value: float) -> None:
    assert harm_if_more_is_better(value, value) == harm_if_less_is_better(value, value) == 0
    assert harm_if_more_is_better(solo=value, shared=0.0) == 1
    assert harm_if_less_is_better(solo=0.0, shared=value) == 1
    # What takes k times as long is as harmful as a kth of the rate.
    rate, time = (
        harm_if_more_is_better(solo=1 / value, shared=1 / other_value),
        harm_if_less_is_better(solo=value, shared=other_value),
    )
    assert rate == pytest.approx(time, rel=1e-9, abs=1e-9)


def test_there_is_no_harm_where_there_is_nothing_to_harm() -> None:
    assert harm_if_more_is_better(solo=0.0, shared=0.0) is None
    assert harm_if_less_is_better(solo=0.0, shared=0.0) is None
    assert harm_if_more_is_better(solo=None, shared=1.0) is harm_if_less_is_better(solo=1.0, shared=None) is None


def test_the_harm_is_that_of_the_numbers_of_a_summary() -> None:
    bulk = {"goodput_mbps": 2.0, "response_time_ms": {"mean": None}, "queue_delay_ms": {"mean": 40.0}}
    bulk_alone = bulk | {"goodput_mbps": 8.0, "queue_delay_ms": {"mean": 30.0}}
    assert harms(bulk, bulk_alone) == {"throughput": 0.75, "response_time": None, "delay": 0.25}
    users = {"goodput_mbps": None, "completed": 90, "response_time_ms": {"mean": 50.0}, "queue_delay_ms": {"mean": 2.0}}
    users_alone = users | {"completed": 100, "response_time_ms": {"mean": 40.0}, "queue_delay_ms": {"mean": 1.0}}
    assert harms(users, users_alone) == pytest.approx({"throughput": 0.1, "response_time": 0.2, "delay": 0.5})


def test_those_who_are_alone_do_themselves_no_harm(small_cell: Cell, tmp_path: Path) -> None:
    assert [cell.key for cell in solo_cells(small_cell)] == [small_cell.key]
    experiment = lab.Experiment(
        link={"rate": "2 Mbit/s"}, users={"per_side": 100}, protocol=lab.Protocol(warmup="2 s", duration="10 s")
    )
    rows = lab.compare("pi", experiment=experiment, seeds=[1], out=tmp_path).measured("harm")["harm"]
    assert [(row["label"], row["of"]) for row in rows] == [("pi", "web users")]
    assert rows[0]["throughput"] == rows[0]["response_time"] == rows[0]["delay"] == 0


def test_alone_everybody_asks_for_the_same(shared: lab.Comparison) -> None:
    result = shared.results[0]
    users_alone, bulk_alone = solo_cells(result.cell)
    shared.measured("harm")
    store = Store(result.directory.parents[1])
    columns = ["side", "user", "connection", "request_bytes", "response_bytes"]

    def request_rows(source_result: lab.Result) -> pl.DataFrame:
        return (
            source_result.exchanges.filter(pl.col("source") == 0).filter(pl.struct(columns).is_unique()).select(columns)
        )

    kept = store.get(users_alone)
    assert kept is not None
    shared_rows, free = request_rows(result), request_rows(kept)
    assert len(shared_rows.join(free, on=columns)) > 0.8 * len(shared_rows)
    assert users_alone.label == "droptail:limit=200, web users alone"
    solo = store.get(bulk_alone)
    assert solo is not None
    assert solo.cell.users_per_side == 0
    assert solo.exchanges.is_empty()


def test_a_sources_draws_do_not_depend_on_other_sources(tmp_path: Path) -> None:
    size = {"exponential": {"mean": "20 kB"}}
    sources = [{"transfers": {"name": name, "rate_per_second": [2, 2], "size": size}} for name in ("first", "second")]
    experiment = lab.Experiment(
        link={"rate": "5 Mbit/s"},
        tcp={"mix": [{"share": 0.5, "source": name, "profile": "linux-6"} for name in ("first", "second")]},
        users={"per_side": 0},
        sources=sources,
        protocol=lab.Protocol(warmup="1 s", duration="30 s"),
        record=lab.Record(exchanges=True),
    )
    (cell,) = cells_of(experiment, [1])
    shared_rows, first, second = (run_cell(variant, Store(tmp_path)).exchanges for variant in (cell, *solo_cells(cell)))
    for number, solo in ((1, first), (2, second)):
        assert solo["source"].unique().to_list() == [number]
        columns = ["start_s", "side", "user", "request_bytes", "response_bytes"]
        among = shared_rows.filter(pl.col("source") == number)
        # One or another is on its way at the end.
        assert len(among.join(solo, on=columns)) > 0.9 * len(among) > 50


def test_long_transfers_harm_users_less_behind_a_shorter_queue(shared: lab.Comparison) -> None:
    rows = {(row["label"], row["of"]): row for row in shared.measured("harm")["harm"]}
    labels = ("droptail:limit=200", "codel")
    assert set(rows) == {(label, traffic) for label in labels for traffic in ("web users", "bulk")}
    droptail, codel = (rows[label, "web users"] for label in labels)
    assert droptail["response_time"] > 0.2
    assert codel["delay"] < droptail["delay"] < 1
    assert all(rows[label, "bulk"]["throughput"] > 0 for label in labels)
    assert all(rows[label, "bulk"]["response_time"] is None for label in labels)


def test_the_outcome_is_that_of_the_drafts_example() -> None:
    example = PROFILES["example"]
    assert outcome(example, {"p99": 350, "p999": 375}, loss_percent=2) == pytest.approx(50)
    # Without the delay that decides, the loss does: 75 %.
    assert outcome(example, {"p99": 200, "p999": 375}, loss_percent=2) == pytest.approx(75)
    assert outcome(example, {"p99": 10, "p999": 10}, loss_percent=0) == 100
    assert outcome(example, {"p99": 500, "p999": 10}, loss_percent=0) == 0
    assert outcome(example, {"p99": 10, "p999": 10}, loss_percent=50) == 0


@pytest.mark.parametrize("name", PROFILES)
@given(delay=st.floats(0, 1000), extra_delay=st.floats(0, 1000), loss=st.floats(0, 10), worse=st.floats(0, 10))
def test_more_delay_or_loss_never_scores_better(
    name: str, delay: float, extra_delay: float, loss: float, worse: float
) -> None:
    def score(ms: float, percent: float) -> float:
        return outcome(PROFILES[name], {"p99": ms, "p999": ms}, percent)

    assert 0 <= score(delay + extra_delay, loss) <= score(delay, loss) <= 100
    assert score(delay, loss + worse) <= score(delay, loss)


def test_each_kind_of_traffic_has_the_outcome_of_its_own_packets(shared: lab.Comparison) -> None:
    rows = {(row["label"], row["of"]): row for row in shared.measured("outcome")["outcome"]}
    label = "droptail:limit=200"
    user_summaries = [result.summary["users"] for result in shared.results if result.cell.label == label]
    assert len(user_summaries) == 2
    for name, profile in PROFILES.items():
        by_hand = []
        for users in user_summaries:
            waits = users["queue_delay_ms_each_way"]
            # The link's delay is 500 us each way.
            worst = {
                percentile: 0.5 + max(waits[0][percentile], waits[1][percentile]) for percentile in ("p99", "p999")
            }
            by_hand.append(outcome(profile, worst, users["loss_percent"]))
        assert rows[label, "web users"][name] == pytest.approx(sum(by_hand) / 2)
    assert rows["codel", "web users"]["gaming"] >= rows[label, "web users"]["gaming"]


def test_the_answer_to_a_step_is_read_off_a_delay_that_is_known() -> None:
    # 40 ms for 3 s, then 10 ms: the mean of the last second is within 5 % of 10 ms when 1/60 s of the 40 is left in it.
    known = step_response(pl.Series([40.0] * 300 + [10.0] * 1700), interval_s=0.01)
    assert known["peak_ms"] == 40
    assert known["settle_s"] == pytest.approx(4 - 1 / 60, abs=0.011)
    assert known["excess_ms_s"] == pytest.approx(30 * 3)


@given(st.floats(0, 1000), st.integers(1, 400))
def test_a_delay_that_stays_has_settled_at_once(delay: float, samples: int) -> None:
    steady = step_response(pl.Series([delay] * (samples + 1)), interval_s=0.1)
    assert steady == {"peak_ms": delay, "settle_s": 0, "excess_ms_s": 0}


def test_a_delay_that_goes_on_growing_has_not_settled() -> None:
    growing = step_response(pl.Series([0.1 * sample for sample in range(1000)]), interval_s=0.01)
    assert growing["settle_s"] is None
    assert growing["excess_ms_s"] == 0


def test_what_a_delay_goes_on_doing_is_no_unrest() -> None:
    samples = [number % 50 for number in range(2000)]
    assert step_response(pl.Series([float(sample) for sample in samples]), interval_s=0.1)["settle_s"] == 0


def test_steps_are_rate_and_load_changes_in_the_window() -> None:
    sources: list[dict[str, Any]] = [
        {"bulk": {"flows": 1, "name": "early"}},
        {"bulk": {"flows": 1, "name": "late", "start": "30 s"}},
        {"datagrams": {"rate": "1 Mbit/s", "start": "30 s", "stop": "40 s"}},
        {"datagrams": {"rate": "1 Mbit/s", "start": "5 s", "stop": "70 s", "name": "all along"}},
    ]
    changes = [{"at": "5 s", "rate": "20 Mbit/s"}, {"at": "20 s", "rate": "5 Mbit/s"}]
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s", "rate_changes": changes},
        users={"per_side": 0},
        sources=sources,
        protocol=lab.Protocol(warmup="10 s", duration="1 min"),
    )
    assert steps(cells_of(experiment, [1])[0]) == {
        20: "rate 5 Mbit/s",
        30: "late starts, datagrams starts",
        40: "datagrams stops",
    }


@pytest.mark.parametrize("header", ["0 B", "14 B"])
def test_in_a_chain_each_queue_answers_at_the_rate_of_its_link(tmp_path: Path, header: str) -> None:
    change = [{"at": "4 s", "rate": "2 Mbit/s"}]
    link = {"device_fifo": 0, "header": header}
    experiment = lab.Experiment(
        link=[{**link, "rate": "5 Mbit/s"}, {**link, "rate": "4 Mbit/s", "rate_changes": change}],
        users={"per_side": 0},
        sources=[{"datagrams": {"rate": "3 Mbit/s"}}],
        protocol=lab.Protocol(warmup="2 s", duration="4 s"),
    )
    comparison = lab.compare("droptail:limit=50", experiment=experiment, seeds=[1], out=tmp_path)
    rows = {row["of"]: row for row in comparison.measured("step")["step"]}
    peaks = {queue_name: row["peak_ms"] for queue_name, row in rows.items()}
    # More than its new rate fills the queue of the second link, and stays there; the header that its law counts is
    # in the frame once.
    assert peaks.pop("rate 2 Mbit/s of link 2 at 4 s, link 2 forward") == pytest.approx(50 * 1538 * 8 / 2e6 * 1000)
    assert peaks == {
        f"rate 2 Mbit/s of link 2 at 4 s, {place}": pytest.approx(0, abs=3)
        for place in ("link 1 forward", "link 1 reverse", "link 2 reverse")
    }


def test_an_unsampled_queue_has_no_value_and_no_report_section(tmp_path: Path) -> None:
    experiment = lab.Experiment(
        link={"rate": "5 Mbit/s", "rate_changes": [{"at": "2 s", "rate": "2 Mbit/s"}]},
        users={"per_side": 20},
        protocol=lab.Protocol(warmup="1 s", duration="4 s"),
        record={"queue_every": "1 h"},
    )
    comparison = lab.compare("droptail", experiment=experiment, seeds=[1], out=tmp_path)
    assert comparison.measured("step")["step"] == []
    assert lab.report(out=tmp_path, to=tmp_path / "report.html").exists()


def test_a_halved_rate_fills_an_unmanaged_queue_more_and_longer(halved: lab.Comparison) -> None:
    rows = {(row["label"], row["of"]): row for row in halved.measured("step")["step"]}
    # They download to side 0, so that data come in the reverse direction.
    droptail, codel = (rows[label, "rate 5 Mbit/s at 20 s, reverse"] for label in ("droptail:limit=200", "codel"))
    # 200 packets of 1500 bytes and 38 of a frame, at 5 Mbit/s.
    assert droptail["peak_ms"] == pytest.approx(200 * 1538 * 8 / 5e6 * 1000, rel=0.005)
    assert codel["peak_ms"] < droptail["peak_ms"]
    assert codel["excess_ms_s"] < droptail["excess_ms_s"] / 2
    assert rows["codel", "rate 5 Mbit/s at 20 s, forward"]["peak_ms"] < 10


def test_numbers_are_means_with_half_their_intervals() -> None:
    seeds = over_seeds(
        [{"a": 1.0, "b": None, "c": 7.0}, {"a": 2.0, "b": None, "c": None}, {"a": 3.0, "b": None, "c": None}]
    )
    # Student's t at 97.5 % with two degrees of freedom, over the root of three.
    assert seeds == {
        "a": 2.0,
        "b": None,
        "c": 7.0,
        "half_width": {"a": pytest.approx(4.3027 / 3**0.5, rel=1e-4), "b": None, "c": None},
    }


def test_the_command_runs_what_they_need_and_shows_it(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "step.toml"
    spec.write_text(
        '[link]\nrate = "5 Mbit/s"\nrate_changes = [{at = "5 s", rate = "2 Mbit/s"}]\n[users]\nper_side = 20\n'
        '[[sources]]\nbulk = {flows = 2}\n[protocol]\nwarmup = "2 s"\nduration = "8 s"\n'
    )
    command = ("compare", str(spec), "codel", "--seeds", "1-2", "--no-figures", "--measures", "page,outcome,harm,step")
    output = aqmlab(*command).out
    for title in (
        "Page-load times of web users",
        "Quality of outcome",
        "Harm by other traffic",
        "Step response of the queueing delay",
    ):
        assert title in output
    assert "±" in output
    record = json.loads(aqmlab(*command, "--json").out)["measures"]
    assert list(record) == ["page", "outcome", "harm", "step"]
    assert {row["of"] for row in record["harm"]} == {"web users", "bulk"}
    assert {cell["label"] for cell in json.loads(aqmlab("ls", "--json").out)} == {
        "codel",
        "codel, web users alone",
        "codel, bulk alone",
    }


@pytest.mark.parametrize(
    ("measure", "changes", "reason"),
    [
        ("page", {"users": {"per_side": 0}, "sources": BULK}, "page needs web users"),
        ("step", {}, "step needs a change of a rate, or a source that starts or stops, in the measurement window"),
        (
            "outcome",
            {"link": [{"rate": "2 Mbit/s"}, {"rate": "2 Mbit/s"}]},
            "outcome needs a single link instead of a chain",
        ),
    ],
)
def test_what_an_experiment_lacks_is_said(measure: str, changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    parts: dict[str, Any] = {
        "users": {"per_side": 2},
        "protocol": {"warmup": "1 s", "duration": "1 s"},
        "record": {"exchanges": True},
    }
    comparison = lab.compare("codel", experiment=lab.Experiment(**parts | changes), seeds=[1], out=tmp_path)
    with pytest.raises(lab.SpecError, match=rf"^measures: {reason}$"):
        comparison.measured(measure)
