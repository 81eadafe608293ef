from __future__ import annotations

import json
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.cells import columns
from aqmlab.disciplines import catalogue
from aqmlab.metrics.metrics import COSTS, MEASURES, PARTS
from aqmlab.results.cells import BASELINE
from conftest import Command

SETTINGS = {
    "label",
    "scheme",
    "parameters",
    "load_percent",
    "users_per_side",
    "rtt",
    "signal",
    "rate_mbps",
    "rate_back_mbps",
}
MEASURED = {*MEASURES, *PARTS, *COSTS}
TIMES = ["p10", "p25", "p50", "p75", "p90", "p95", "p99", "mean"]


@pytest.fixture(scope="module")
def comparison(small: lab.Experiment, tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    return lab.compare(
        "droptail:limit=20",
        "red:ecn=true",
        "ared:ecn=true,ecn_policy=mark_in_gentle",
        "red:ecn=ecn+",
        "ared:ecn=ecn+,ecn_policy=mark_in_gentle",
        experiment=small,
        seeds=[1, 2],
        out=tmp_path_factory.mktemp("results"),
    )


def test_each_scheme_and_seed_has_a_cell_baseline_first(comparison: lab.Comparison) -> None:
    assert [(cell["label"], cell["signal"], cell["seed"]) for cell in comparison.cells] == [
        (label, signal, seed)
        for label, signal in (
            (BASELINE, "none"),
            ("droptail:limit=20", "drop"),
            ("red:ecn=true", "ecn"),
            ("ared:ecn=true,ecn_policy=mark_in_gentle", "ecn-new-gentle"),
            ("red:ecn=ecn+", "ecn+"),
            ("ared:ecn=ecn+,ecn_policy=mark_in_gentle", "ecn+-new-gentle"),
        )
        for seed in (1, 2)
    ]


def test_a_cell_has_its_settings_measures_and_costs(comparison: lab.Comparison) -> None:
    for cell in comparison.cells:
        assert cell.keys() == {*columns.SCHEMA.names} - {"spec"} | MEASURED | {"cell"}
        assert list(cell["response_time_ms"]) == TIMES
        assert Path(cell["cell"], "queue.parquet").is_file()
    droptail = comparison.cells[2]
    assert droptail["scheme"] == "droptail"
    assert droptail["parameters"].keys() == {"limit"}


def test_a_scheme_has_means_and_deviations_over_its_seeds(comparison: lab.Comparison) -> None:
    for scheme in comparison.schemes:
        assert scheme.keys() == SETTINGS | MEASURED | {"seeds", "half_width", "sd", "n", "cells"}
        assert scheme["sd"].keys() == scheme["half_width"].keys() == MEASURED
        assert scheme["seeds"] == [1, 2]
        assert list(scheme["response_time_ms"]) == list(scheme["sd"]["response_time_ms"]) == TIMES


def test_all_schemes_have_the_same_users(comparison: lab.Comparison) -> None:
    assert {cell["users_per_side"] for cell in comparison.cells} == {400}
    assert len({cell["load_percent"] for cell in comparison.cells}) == 1


def test_the_bottleneck_costs_the_users_time(comparison: lab.Comparison) -> None:
    uncongested, *congested = comparison.schemes
    assert uncongested["loss_percent"] == 0
    for scheme in congested:
        assert scheme["loss_percent"] > 0
        assert scheme["response_time_ms"]["p90"] > uncongested["response_time_ms"]["p90"]


def test_it_shows_as_a_table(comparison: lab.Comparison) -> None:
    table = repr(comparison)
    for scheme in comparison.schemes:
        assert f"{scheme['label']} " in table
        for loss, half in (
            (way["loss_percent"], width["loss_percent"])
            for way, width in zip(scheme["directions"], scheme["half_width"]["directions"], strict=True)
        ):
            assert f"{loss:.2f} ±{half:.2f}" in table
    assert "\x1b" not in table


def test_a_scheme_given_twice_is_refused(small: lab.Experiment, aqmlab: Command, tmp_path: Path) -> None:
    message = "schemes: each must be given once, got droptail more than once"
    with pytest.raises(lab.SpecError, match=message):
        lab.compare("droptail", "pie", "droptail", experiment=small, seeds=[1], out=tmp_path)
    outcome = aqmlab("compare", "droptail", "droptail", "--users", "9", "--seeds", "1")
    assert (outcome.code, outcome.err) == (2, f"aqmlab: {message}\n")
    with pytest.raises(lab.SpecError, match=message):
        lab.Grid(schemes=["droptail", "droptail"]).points()


def test_every_discipline_runs_as_a_scheme_at_full_load(tmp_path: Path) -> None:
    experiment = lab.Experiment(users={"load": 98}, protocol={"warmup": "1 s", "duration": "1 s"})
    names = list(catalogue.disciplines())
    comparison = lab.compare(*names, experiment=experiment, seeds=[1], out=tmp_path)
    assert [result.cell.label for result in comparison.results] == [BASELINE, *names]
    assert all(result.summary["completed_requests"] > 0 for result in comparison.results)


@pytest.mark.parametrize(
    ("seeds", "reason"),
    [([], "must be one at least, got none"), ([3, 1, 3], "each must be given once, got 3 more than once")],
)
def test_seeds_that_are_none_or_repeated_are_refused(small: lab.Experiment, seeds: list[int], reason: str) -> None:
    with pytest.raises(lab.SpecError, match=f"^seeds: {reason}"):
        lab.compare("pi", experiment=small, seeds=seeds)


def with_bulk(small: lab.Experiment) -> lab.Experiment:
    return small.model_copy(
        update={"sources": ({"bulk": {"name": "upload", "flows": 1, "direction": "upload"}},), "protocol": BRIEF}
    )


BRIEF = lab.Protocol(warmup="1 s", duration="5 s")


def test_a_greedy_source_has_no_baseline_and_a_note_says_why(small: lab.Experiment, tmp_path: Path) -> None:
    comparison = lab.compare("pi", experiment=with_bulk(small), seeds=[1], out=tmp_path)
    assert [result.cell.label for result in comparison.results] == ["pi"]
    assert any("upload takes any capacity" in note for note in comparison.notes)


def test_a_baseline_is_there_only_on_request(small: lab.Experiment, tmp_path: Path) -> None:
    with_baseline = lab.compare("pi", experiment=with_bulk(small), seeds=[1], baseline=True, out=tmp_path)
    assert [result.cell.label for result in with_baseline.results] == [BASELINE, "pi"]
    assert not any("baseline" in note for note in with_baseline.notes)
    brief = small.model_copy(update={"protocol": BRIEF})
    declined = lab.compare("pi", experiment=brief, seeds=[1], baseline=False, out=tmp_path)
    assert [result.cell.label for result in declined.results] == ["pi"]
    assert not any("baseline" in note for note in declined.notes)


def test_pairs_are_differences_from_the_first_scheme(small: lab.Experiment, tmp_path: Path) -> None:
    comparison = lab.compare(
        "droptail:limit=20", "droptail:limit=30", "pi", experiment=small, seeds=[2, 1], out=tmp_path, paired=True
    )
    uncongested, first, *further = comparison.schemes
    assert "paired" not in uncongested
    assert "paired" not in first
    for scheme in further:
        paired = scheme["paired"]
        assert paired["to"] == "droptail:limit=20"
        for name in ("loss_percent", "throughput_mbps"):
            assert paired["difference"][name] == pytest.approx(scheme[name] - first[name])
            assert paired["low"][name] < paired["difference"][name] < paired["high"][name]
            assert (paired["p"][name] < 0.05) == (paired["low"][name] > 0 or paired["high"][name] < 0)
        assert list(paired["low"]["response_time_ms"]) == TIMES
    bands = comparison.response_time_differences()
    assert list(bands) == ["droptail:limit=30", "pi"]
    assert all((band["low"] <= band["difference"]).all() for band in bands.values())


@pytest.mark.parametrize(("schemes", "seeds"), [(["pi", "rem"], [1]), (["pi"], [1, 2])])
def test_pairs_of_one_seed_or_one_scheme_are_refused(
    small: lab.Experiment, schemes: list[str], seeds: list[int]
) -> None:
    with pytest.raises(lab.SpecError, match=r"^paired: needs two seeds and two schemes at least, got "):
        lab.compare(*schemes, experiment=small, seeds=seeds, paired=True)


def test_how_far_cells_are_is_told_where_it_is_asked_for(
    small: lab.Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    brief = small.model_copy(update={"protocol": BRIEF})
    lab.compare("pi", experiment=brief, seeds=[1], baseline=False, out=tmp_path / "silent")
    assert capsys.readouterr() == ("", "")
    lab.compare("pi", experiment=brief, seeds=[1], baseline=False, out=tmp_path / "told", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("1 cell\n")


def test_the_command_compares_without_a_baseline_and_in_pairs(aqmlab: Command) -> None:
    brief = ("--users", "50", "--warmup", "1 s", "--duration", "5 s")
    outcome = aqmlab("compare", *brief, "--seeds", "2", "--no-baseline", "--paired", "--json", "pi", "codel")
    first, second = json.loads(outcome.out)["schemes"]
    assert first["label"] == "pi"
    assert second["paired"]["to"] == "pi"
    refusal = aqmlab("compare", *brief, "--seeds", "1", "--paired", "pi", "codel")
    assert (refusal.code, refusal.err.count("\n")) == (2, 1)
    assert "paired: needs two seeds" in refusal.err
