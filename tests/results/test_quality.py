"""The quality that people experience: calls and games in summaries, names of numbers and comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.metrics.metrics import lookup
from aqmlab.metrics.parts import Parts
from aqmlab.results import experience
from aqmlab.results.table import parts
from conftest import Command

SPEC: dict[str, Any] = {
    "link": {"rate": "2 Mbit/s", "delay": "5 ms", "device_fifo": 0},
    "users": {"per_side": 0},
    "sources": [
        {"call": {"flows": 3, "codec": "g711", "rtt": {"fixed": "40 ms"}}},
        {"game": {"flows": 2, "rtt": {"fixed": "40 ms"}}},
        {"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}}},
    ],
    "protocol": {"warmup": "5 s", "duration": "20 s"},
}
SCHEMES = ("droptail:limit=60", "fq_codel")


def mos(r: float) -> float:
    """Return the mean opinion score of a rating, by ITU-T G.107, annex B."""
    return 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    out = tmp_path_factory.mktemp("results")
    return lab.compare(*SCHEMES, experiment=lab.Experiment(**SPEC), seeds=[1], out=out, baseline=False)


def sources(comparison: lab.Comparison) -> list[list[dict[str, Any]]]:
    return [result.record()["sources"] for result in comparison.results]


def test_a_call_and_a_game_suffer_from_a_long_queue(comparison: lab.Comparison) -> None:
    (call, game, _), (fair_call, fair_game, _) = sources(comparison)
    assert call["calls"]["mos_min"] < fair_call["calls"]["mos_min"] - 0.2
    assert call["calls"]["mouth_to_ear_ms_mean"] > fair_call["calls"]["mouth_to_ear_ms_mean"] + 100
    assert fair_game["games"]["late_percent"] < 5 < game["games"]["late_percent"]
    # The download fills direction 1, which leads to the players.
    assert game["games"]["late_to_player_percent"] > 10 > game["games"]["late_to_server_percent"]


def test_qualities_agree_with_the_packets_behind_them(comparison: lab.Comparison) -> None:
    for call, game, bulk in sources(comparison):
        quality, datagrams = call["calls"], call["datagrams"]
        # Coding takes a frame of 20 ms, and the buffer waits for a frame at least.
        assert quality["mouth_to_ear_ms_mean"] >= datagrams["delay_ms_mean"] + 39
        assert quality["missing_percent"] >= quality["discarded_percent"]
        lost = quality["missing_percent"] - quality["discarded_percent"]
        assert lost == pytest.approx(datagrams["loss_percent"], abs=0.2)
        assert quality["mos_min"] <= quality["mos_p10"] <= quality["mos_p50"]
        # The score is concave in this range of ratings, so that the mean of scores is at most that of the mean rating.
        assert quality["mos_mean"] == pytest.approx(mos(quality["r_mean"]), abs=0.15)
        assert game["games"]["late_percent"] >= game["datagrams"]["loss_percent"] - 0.1
        assert (bulk["calls"], bulk["games"], call["games"], game["calls"]) == (None,) * 4


def test_qualities_have_names_and_a_table(comparison: lab.Comparison) -> None:
    (row, _) = comparison.frame("call MOS min").to_dicts()
    assert row["mean"] == sources(comparison)[0][0]["calls"]["mos_min"]
    named = Parts.from_cells(result.cell for result in comparison.results)
    assert {"call mouth to ear", "call one-way p99", "game late", "game late max"} <= set(named.numbers)
    assert not {"call late", "game MOS", "bulk MOS", "call completed"} & set(named.numbers)
    with pytest.raises(lab.SpecError, match=r"after call also MOS, .*; after game also late, "):
        named.find("call nothing", "until")


def test_one_table_has_a_number_of_each_application(comparison: lab.Comparison) -> None:
    (table,) = (part for part in parts(comparison.schemes) if part.title == "Experience by application")
    columns = [(column.group, column.name) for column in table.columns]
    assert columns == [("call", "MOS"), ("game", "late, %"), ("bulk", "goodput, Mbit/s")]
    for row, scheme in zip(table.rows, comparison.schemes, strict=True):
        call, game, bulk = scheme["sources"]
        shown = [lookup(row.values, column.path) for column in table.columns]
        assert shown == [call["calls"]["mos_mean"], game["games"]["late_percent"], bulk["goodput_mbps"]]


def test_traffic_of_one_kind_has_no_such_table(comparison: lab.Comparison) -> None:
    assert experience.numbers(comparison.schemes)
    calls = [{**scheme, "sources": [scheme["sources"][0], scheme["sources"][2]]} for scheme in comparison.schemes]
    assert not experience.numbers(calls)


def test_a_comparison_shows_qualities(tmp_path: Path, aqmlab: Command) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'users.per_side = 0\nprotocol = {warmup = "1 s", duration = "5 s"}\n'
        '[[sources]]\ncall = {flows = 1, buffer = {fixed = "60 ms"}, rtt = {fixed = "40 ms"}}\n'
        "[[sources]]\ngame = {flows = 1, rtt = {fixed = '40 ms'}}\n"
    )
    output = aqmlab("compare", str(spec), *SCHEMES, "--seeds", "1", "--out", str(tmp_path / "out"), "--no-figures").out
    table = output.partition("Quality for people")[2]
    assert all(word in table for word in ("MOS", "mouth to ear", "discarded", "late to server", "call", "game"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"call": {"flows": 1, "codec": "g729a", "rate": "8 kbit/s"}}, r"call\.rate: must be left out: only opus"),
        ({"call": {"flows": 1, "delay_at": "server"}}, r"delay_at"),
        ({"game": {"flows": 1, "client_ticks": 0.5}}, r"game\.client_ticks: must be between 1 and 1000"),
    ],
)
def test_a_mistake_is_refused(source: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError, match=message):
        lab.run(lab.Experiment(**{**SPEC, "sources": [source]}), out=tmp_path)
