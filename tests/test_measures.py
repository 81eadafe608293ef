from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab.results.measures.jain import jain
from aqmlab.results.measures.rpm import round_trips_per_minute
from aqmlab.results.measures.slowdown import SIZES, slowdowns
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


def test_a_minute_has_so_many_round_trips_as_delays_and_queues_leave(compared: lab.Comparison) -> None:
    free, _, droptail, *_ = compared.results
    waits_ms = sum(way["queue_delay_ms"]["mean"] for way in droptail.summary["directions"])
    # The link's delay is 500 us each way.
    assert round_trips_per_minute(droptail) == pytest.approx(60_000 / (1 + waits_ms))
    by_label = {row["label"]: row["rpm"] for row in compared.measured("rpm")["rpm"]}
    assert by_label["uncongested"] > 10 * by_label["droptail"]
    assert free.cell.label == "uncongested"


def test_each_request_has_one_twin_which_asked_for_the_same(compared: lab.Comparison) -> None:
    free, _, droptail, *_ = compared.results
    slowed = slowdowns(droptail, free)
    users = droptail.exchanges.filter(pl.col("source") == 0)
    # Those of the window's beginning and end have theirs outside of it.
    assert 0.9 * len(users) < len(slowed) < len(users)
    assert (slowed["slowdown"] >= 1).all()
    assert slowdowns(free, free)["slowdown"].unique().to_list() == [1.0]


def test_a_request_under_another_seed_is_no_twin(compared: lab.Comparison) -> None:
    free, _, _, other, *_ = compared.results
    assert other.cell.seed == 2
    assert len(slowdowns(other, free)) < 0.001 * len(other.exchanges)


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
        link={"rate": "5 Mbit/s"},
        users={"per_side": 0},
        sources=bulk,
        protocol=lab.Protocol(warmup="5 s", duration="30 s"),
    )
    (row,) = lab.compare("droptail", experiment=experiment, seeds=[1], out=tmp_path).measured("jain")["jain"]
    assert row["of"] == "sources' goodput"
    assert 0.5 < row["jain"] < 0.9


def test_the_command_keeps_what_it_needs_and_shows_it(aqmlab: Command) -> None:
    brief = ("--users", "100", "--warmup", "2 s", "--duration", "20 s", "--seeds", "1", "--no-figures", "codel")
    outcome = aqmlab("compare", *brief, "--measures", "slowdown, jain,rpm")
    for title in ("Slowdown of web users' requests", "Fairness, Jain's index", "Responsiveness, round trips a minute"):
        assert title in outcome.out
    said = json.loads(aqmlab("compare", *brief, "--measures", "rpm,slowdown", "--json").out)["measures"]
    assert list(said) == ["rpm", "slowdown"]
    assert {row["label"] for row in said["slowdown"]} == {"codel"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--measures", "speed"), "measures: must be of slowdown, page, rpm, outcome, jain, harm, step, got 'speed'"),
        (("--measures", "slowdown", "--no-baseline"), "measures: slowdown needs the uncongested network"),
        (("--measures", "step"), "measures: step needs a change of a rate, or a source that starts or stops"),
    ],
)
def test_a_measure_that_cannot_be_had_is_one_line(aqmlab: Command, arguments: tuple[str, ...], why: str) -> None:
    outcome = aqmlab("compare", "pi", "--users", "20", *arguments)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert why in outcome.err


def test_requests_of_a_version_that_does_not_say_who_asked_are_refused(
    compared: lab.Comparison, tmp_path: Path
) -> None:
    old = dataclasses.replace(compared.results[0], place=tmp_path, files={})
    compared.results[0].exchanges.drop("user", "connection").write_parquet(tmp_path / "exchanges.parquet")
    with pytest.raises(lab.SpecError, match=r"^measures: .* is of a version whose exchanges say not who asked"):
        slowdowns(old, compared.results[0])


def test_users_without_rows_of_their_requests_are_refused(small: lab.Experiment, tmp_path: Path) -> None:
    brief = small.model_copy(update={"protocol": lab.Protocol(warmup="1 s", duration="5 s")})
    with pytest.raises(lab.SpecError, match=r"^record\.exchanges: must be true"):
        lab.compare("pi", experiment=brief, seeds=[1], out=tmp_path).measured("jain")
