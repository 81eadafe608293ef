"""Numbers by name: the same parser and the same value wherever a number can be named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import aqmlab as lab
from aqmlab.metrics.numbers import DATAGRAM_NUMBERS, NUMBERS, REQUEST_NUMBERS
from aqmlab.metrics.parts import Parts
from conftest import Command

SPEC: dict[str, Any] = {
    "link": {"rate": {"up": "4 Mbit/s", "down": "8 Mbit/s"}, "device_fifo": 0},
    "tcp": {"profile": "linux-6"},
    "users": {"per_side": 30, "sides": 1},
    "sources": [
        {"datagrams": {"name": "game", "rate": "80 kbit/s", "packet": "100 B", "flows": 1, "side": 0}},
        {"bulk": {"name": "upload", "flows": 2, "direction": "upload", "rtt": {"fixed": "20 ms"}}},
    ],
    "protocol": {"warmup": "2 s", "duration": "8 s"},
}
SCHEMES = ("droptail:limit=60", "dualpi2")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def comparison(out: Path) -> lab.Comparison:
    return lab.compare(*SCHEMES, experiment=lab.Experiment(**SPEC), seeds=[1, 2, 3], paired=True, out=out)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    toml = tmp_path / "spec.toml"
    toml.write_text("".join(f"{key} = {_toml(value)}\n" for key, value in SPEC.items()))
    return toml


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


def test_each_name_is_the_number_of_the_summary(comparison: lab.Comparison) -> None:
    result = comparison.results[-1]
    summary = result.summary
    game, upload = summary["sources"]
    for name, value in {
        "loss": summary["loss_percent"],
        "p95": summary["response_time_ms"]["p95"],
        "response_time_ms.p90": summary["response_time_ms"]["p90"],
        "queue_packets_mean": summary["queue_packets_mean"],
        "throughput forward": summary["directions"][0]["throughput_mbps"],
        "delay p99 reverse": summary["directions"][1]["queue_delay_ms"]["p99"],
        "game one-way p99": game["datagrams"]["delay_ms_p99"],
        "game  one-way p99.9": game["datagrams"]["delay_ms_p999"],
        "game jitter": game["datagrams"]["delay_ms_sd"],
        "game delay p99 forward": game["queue_delay_ms_each_way"][0]["p99"],
        "upload goodput": upload["goodput_mbps"],
        "web users delay": summary["users"]["queue_delay_ms"]["mean"],
        "web users p95": summary["response_time_ms"]["p95"],
        "Classic delay p99": summary["classes"][1]["queue_delay_ms"]["p99"],
        "Classic delay forward": summary["directions"][0]["classes"][1]["queue_delay_ms"]["mean"],
    }.items():
        assert value is not None, name
        assert result.measure(name) == value, name


def test_percentiles_of_datagrams_are_in_order(comparison: lab.Comparison) -> None:
    for result in comparison.results:
        p50, mean, p99, p999, most = (
            result.measure(f"game one-way{name}") or 0.0 for name in (" p50", "", " p99", " p99.9", " max")
        )
        assert 0 < p50 <= p99 <= p999 <= most * 1.01
        assert p50 / 3 < mean < p99


def test_numbers_of_one_direction_have_its_name() -> None:
    sided = Parts.from_specs([{"users": {"per_side": 0}, "sides": ["home", "internet"], "sources": SPEC["sources"]}])
    assert sided.find("game delay p99 home->internet", "until") == sided.find("game delay p99 home→internet", "until")
    chain = Parts.from_specs([{"users": {"per_side": 1}, "link": [{}, {}]}])
    assert chain.find("loss link 2 reverse", "until").direction == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("game p99", "after game: goodput, loss, delay, delay p50, delay p99, delay p99.9, one-way, one-way p50"),
        ("gam one-way p99", "did you mean 'game one-way p99'?"),
        ("upload jitter", "after web users or upload: goodput"),
        ("delay p99 sideways", "before forward or reverse: loss"),
        ("response_time_ms", "response_time_ms has several numbers, response_time_ms.p10, "),
        ("response_time_ms.p91", "response_time_ms has several numbers, response_time_ms.p10, "),
        ("loss_percent.mean", "loss_percent is one number, got 'loss_percent.mean'"),
        ("", "no number is called ''"),
    ],
)
def test_a_wrong_name_lists_the_right_ones(name: str, message: str, comparison: lab.Comparison) -> None:
    for ask in (comparison.intervals, comparison.frame, comparison.results[-1].measure):
        with pytest.raises(lab.SpecError) as error:
            ask(name)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_a_frame_has_means_and_intervals_of_the_seeds(comparison: lab.Comparison) -> None:
    frame = comparison.frame("game one-way p99", "loss", sd=True)
    assert frame.columns == ["scheme", "less", "measure", "unit", "mean", "low", "high", "half_width", "sd", "n"]
    means = frame.filter(pl.col("less").is_null())
    assert means.height == 4
    for label in SCHEMES:
        row = means.row(by_predicate=(pl.col("scheme") == label) & (pl.col("measure") == "loss"), named=True)
        values = np.array(
            [result.summary["loss_percent"] for result in comparison.results if result.cell.label == label]
        )
        # Student's t with two degrees of freedom at 97.5 %, from a printed table.
        half = 4.303 * values.std(ddof=1) / np.sqrt(3)
        assert (row["mean"], row["sd"]) == pytest.approx((values.mean(), values.std(ddof=1)))
        assert row["half_width"] == pytest.approx(half, rel=1e-3)
        assert row["low"] == pytest.approx(max(0.0, values.mean() - half), abs=1e-3)
        assert (row["unit"], row["n"]) == ("%", 3)


def test_a_frame_of_pairs_has_differences(comparison: lab.Comparison) -> None:
    (row,) = comparison.frame("game one-way p99").filter(pl.col("less").is_not_null()).to_dicts()
    first, second = (
        np.array([result.measure("game one-way p99") for result in comparison.results if result.cell.label == label])
        for label in SCHEMES
    )
    assert (row["scheme"], row["less"]) == (SCHEMES[1], SCHEMES[0])
    assert row["mean"] == pytest.approx((second - first).mean())
    assert row["high"] - row["mean"] == pytest.approx(row["half_width"])
    assert "less" not in lab.Comparison(comparison.results).frame("loss").columns


@pytest.mark.slow
def test_a_whole_frame_names_every_number_that_there_is(comparison: lab.Comparison) -> None:
    names = set(comparison.frame()["measure"])
    assert {"p95", "loss", *(f"game {name}" for name in DATAGRAM_NUMBERS)} <= names
    assert not names & {f"game {name}" for name in REQUEST_NUMBERS if name not in DATAGRAM_NUMBERS}
    for name in names:
        assert comparison.frame(name).height > 0


def test_a_comparison_shows_chosen_numbers(spec: Path, aqmlab: Command, out: Path) -> None:
    arguments = ("compare", str(spec), *SCHEMES, "--seeds", "3", "--out", str(out), "--no-figures")
    names = "game one-way p99,Classic delay p99,p95"
    output = aqmlab(*arguments, "--measures", names).out.partition("Chosen numbers")[2]
    assert all(word in output for word in ("game", "one-way p99, ms", "Classic", "delay p99, ms", "p95, ms"))
    (first, _) = (line for line in output.splitlines() if line.startswith(SCHEMES))
    numbers = json.loads(aqmlab(*arguments, "--measures", names, "--json").out)["numbers"]
    # Drop-tail has no classes.
    assert [number["measure"] for number in numbers if number["scheme"] == SCHEMES[0]] == ["game one-way p99", "p95"]
    assert first.split()[2] == "-" or first.split()[3] == "-"
    wrong = aqmlab(*arguments, "--measures", "game p99")
    assert wrong.code == 2
    assert "computed on request: slowdown" in wrong.err


def test_until_goes_by_the_number_of_a_source(spec: Path, aqmlab: Command, out: Path) -> None:
    arguments = ("compare", str(spec), "dualpi2", "--out", str(out), "--no-figures", "--json")
    stopped = json.loads(aqmlab(*arguments, "--until", "game one-way p99 within 100 %").out)["until"]
    assert stopped["widths"][0]["target"] == "game one-way p99 within 100 %"


@pytest.mark.slow
def test_a_sweep_shows_chosen_numbers(spec: Path, aqmlab: Command, tmp_path: Path, out: Path) -> None:
    grid = tmp_path / "a.grid.toml"
    axes = '[axes]\n"link.rate.up" = ["4 Mbit/s", "5 Mbit/s"]\n'
    grid.write_text(f'spec = "{spec}"\nschemes = ["droptail:limit=60"]\n{axes}')
    arguments = (
        "sweep",
        str(grid),
        "--seeds",
        "1-2",
        "--out",
        str(out),
        "--measures",
        "game one-way p99,upload goodput",
    )
    points = json.loads(aqmlab(*arguments, "--json").out)["points"]
    assert len(points) == 2
    for point in points:
        is_of_point = (pl.col("rate_mbps") == float(point["link.rate.up"].split()[0])) & (pl.col("seed") <= 2)
        cells = lab.Store(out).scan("summary").filter(is_of_point, pl.col("label") == "droptail:limit=60").collect()
        assert cells.height == 2
        values = [sources[0]["datagrams"]["delay_ms_p99"] for sources in cells["sources"].to_list()]
        assert point["game one-way p99"] == pytest.approx(np.mean(values))
    assert "game one-way p99, ms" in " ".join(aqmlab(*arguments).out.split())
    wrong = aqmlab(*arguments[:-1], "game p99")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)


def test_searches_go_by_the_number_of_a_source(tmp_path: Path) -> None:
    experiment = lab.Experiment(**SPEC)
    options: dict[str, Any] = {"experiment": experiment, "seeds": [1], "out": tmp_path}
    tuned = lab.tune("codel", "target=1 ms..50 ms", minimise=["game one-way p99"], trials=6, confirm=0, **options)
    assert tuned.objectives[0].name == "game one-way p99"
    assert min(candidate.means[0] for candidate in tuned.candidates) < 0
    sensitivity = lab.sensitivity("codel", "target=1 ms..50 ms", of=["game jitter"], points=2, **options)
    assert set(sensitivity.indices["measure"]) == {"game jitter"}
    assert sensitivity.indices["mu_star"][0] > 0
    for search in (
        lambda: lab.tune("codel", "target=1 ms..50 ms", minimise=["game p99"], **options),
        lambda: lab.sensitivity("codel", "target=1 ms..50 ms", of=["game p99"], **options),
    ):
        with pytest.raises(lab.SpecError, match="no number is called 'game p99'"):
            search()


@pytest.mark.slow
def test_advice_goes_by_the_number_of_a_source(tmp_path: Path) -> None:
    link = lab.AccessLink(down="20 Mbit/s", up="4 Mbit/s", rtt="20 ms", games=1)
    advice = lab.advise(link, minimise="game up one-way p99", seeds=[1, 2], out=tmp_path)
    assert advice.map == ()
    assert len(advice.run) > 10
    assert advice.run[0].mean < next(item.mean for item in advice.run if item.candidate == "droptail")
    logs: dict[str, list[float]] = {}
    for item in advice.results:
        logs.setdefault(item.cell.label, []).append(np.log(item.measure("game up one-way p99") or 0.0))
    assert advice.run[0].mean == pytest.approx(min(np.exp(np.mean(logarithms)) for logarithms in logs.values()))
    assert "game up one-way p99, ms" in repr(advice)
    assert "all candidates were run on this link" in " ".join(advice.notes)
    with pytest.raises(lab.SpecError, match="must be a time"):
        lab.advise(link, minimise="game up loss", out=tmp_path)


def test_the_numbers_of_a_run_have_units() -> None:
    assert {number.unit for number in NUMBERS.values()} == {"ms", "%", "Mbit/s", "of 1", "requests", "packets", "B"}
