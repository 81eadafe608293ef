from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as lab
from aqmlab.running.checks import check, failures
from aqmlab.stats import mser5
from aqmlab.store.result import Result
from conftest import Command

STEADY = lab.Protocol(warmup="60 s", duration="5 min")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    """Five minutes of users who congest a slow link a little, and the same without congestion."""
    link = {"rate": "5 Mbit/s", "device_fifo": 1}
    experiment = lab.Experiment(link=link, users={"per_side": 420}, protocol=STEADY)
    out = tmp_path_factory.mktemp("healthy")
    return lab.compare("droptail", "pi:q_ref=10", experiment=experiment, seeds=[1, 2], out=out)


def failed(*results: Result) -> set[tuple[str, str]]:
    return {(failure.law, failure.label) for failure in check(results) if not failure.is_met}


def doctored(result: Result, **summary: Any) -> Result:
    """Return the same cell with other numbers in its summary."""
    altered = dataclasses.replace(result)
    altered.__dict__["summary"] = result.summary | summary
    return altered


def test_healthy_cells_pass_every_check(healthy: lab.Comparison) -> None:
    laws = [check.law for check in healthy.checks]
    assert (laws.count("utilisation"), laws.count("closed_loop"), laws.count("steady")) == (12, 4, 6)
    assert [check for check in healthy.checks if not check.is_met] == []
    assert healthy.notes == []


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_requests_that_do_not_fit_the_response_times_are_noticed(healthy: lab.Comparison, factor: float) -> None:
    uncongested, droptail = healthy.results[0], healthy.results[2]
    requests = round(factor * droptail.summary["completed_requests"])
    assert failed(uncongested, doctored(droptail, completed_requests=requests)) == {("closed_loop", "droptail")}
    # Without the uncongested network the users' think times are unknown.
    assert failed(doctored(droptail, completed_requests=requests)) == set()


def test_a_utilisation_that_its_packets_do_not_make_is_noticed(healthy: lab.Comparison) -> None:
    droptail = healthy.results[2]
    ways = [way | {"utilisation": 0.99 * way["utilisation"]} for way in droptail.summary["directions"]]
    assert failed(doctored(droptail, directions=ways)) == {("utilisation", "droptail")}


def test_a_window_too_short_for_its_waits_is_noticed(small: lab.Experiment, tmp_path: Path) -> None:
    compared = lab.compare("droptail", experiment=small, seeds=[1, 2], out=tmp_path)
    note, *_ = compared.notes
    assert note.startswith("Check: users' cycles and response times do not fit")
    assert note.endswith("(seeds of droptail: 1, 2).")


def test_what_begins_in_the_middle_of_the_window_is_noticed(tmp_path: Path) -> None:
    def throughput(start: str) -> set[tuple[str, str]]:
        bulk = {"bulk": {"name": "upload", "flows": 1, "direction": "upload", "start": start}}
        brief = lab.Protocol(warmup="5 s", duration="20 s")
        experiment = lab.Experiment(link={"rate": "5 Mbit/s"}, users={"per_side": 5}, sources=(bulk,), protocol=brief)
        return failed(*lab.compare("codel", experiment=experiment, seeds=[1], out=tmp_path).results)

    assert throughput("0 s") == set()
    assert throughput("12 s") == {("steady", "codel")}


def test_a_link_whose_rate_is_to_change_is_not_checked(tmp_path: Path) -> None:
    link = {"rate": "5 Mbit/s", "rate_changes": [{"at": "10 s", "rate": "1 Mbit/s"}]}
    brief = lab.Protocol(warmup="5 s", duration="20 s")
    experiment = lab.Experiment(link=link, users={"per_side": 50}, protocol=brief)
    assert lab.compare("codel", experiment=experiment, seeds=[1], out=tmp_path).checks == []


def test_failures_are_told_together_law_by_law(healthy: lab.Comparison) -> None:
    broken = [
        dataclasses.replace(check, value=check.high + 1) for check in healthy.checks if check.law == "utilisation"
    ]
    (note,) = failures([*broken, *(check for check in healthy.checks if check.law != "utilisation")])
    assert note.endswith("(seeds of uncongested: 1, 2; droptail: 1, 2; pi:q_ref=10: 1, 2).")


def test_the_command_prints_checks_in_json_and_below_tables(aqmlab: Command) -> None:
    brief = ("--users", "50", "--warmup", "2 s", "--duration", "15 s", "--seeds", "1", "--no-figures", "codel")
    record = json.loads(aqmlab("compare", *brief, "--json").out)["checks"]
    assert {entry["law"] for entry in record} == {"utilisation", "closed_loop", "steady"}
    assert {entry["met"] for entry in record if entry["law"] == "steady"} == {False}
    assert "Check: the beginning of the measured window" in aqmlab("compare", *brief).out


def autoregressive(draws: np.random.Generator, number: int, memory: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    series, noise = np.zeros(number), draws.standard_normal(number)
    for step in range(1, number):
        series[step] = memory * series[step - 1] + noise[step]
    return series


@pytest.mark.parametrize("transient", [50, 100, 200])
def test_mser_5_leaves_out_a_transient_and_little_more(transient: int) -> None:
    draws = np.random.default_rng(20261123)
    left_out = []
    for _ in range(200):
        series = 100 + autoregressive(draws, 500, 0.5)
        series[:transient] -= np.linspace(40, 0, transient)
        left_out.append(mser5(series))
    assert np.all(np.array(left_out) % 5 == 0)
    # The last part of a ramp lies within the noise.
    assert 0.6 * transient <= np.median(left_out) <= 1.1 * transient


def test_mser_5_cuts_little_of_a_steady_series_and_at_most_half() -> None:
    draws = np.random.default_rng(20261123)
    left_out = [mser5(100 + autoregressive(draws, 500, 0.5)) for _ in range(500)]
    assert np.median(left_out) <= 25
    assert max(left_out) <= 250
    assert mser5(np.arange(7.0)) == 0
