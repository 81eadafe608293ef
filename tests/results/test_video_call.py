"""Video calls: what people see of them behind each queue, and the names and tables of their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.metrics.parts import Parts
from conftest import Command

SPEC: dict[str, Any] = {
    "link": {"rate": "5 Mbit/s", "delay": "5 ms", "device_fifo": 0},
    "users": {"per_side": 0},
    "sources": [
        {"video_call": {"flows": 1, "rtt": {"fixed": "40 ms"}}},
        {"bulk": {"flows": 1, "rtt": {"fixed": "40 ms"}}},
    ],
    "protocol": {"warmup": "10 s", "duration": "30 s"},
}
SCHEMES = ("droptail:limit=250", "fq_codel")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    out = tmp_path_factory.mktemp("results")
    return lab.compare(*SCHEMES, experiment=lab.Experiment(**SPEC), seeds=[1], out=out, baseline=False)


def qualities(comparison: lab.Comparison) -> list[dict[str, Any]]:
    return [result.record()["sources"][0]["video_calls"] for result in comparison.results]


def test_a_long_queue_delays_and_starves_a_video_call(comparison: lab.Comparison) -> None:
    long, fair = qualities(comparison)
    # The download fills 250 packets of direction 1, which take 600 ms.
    assert long["frame_delay_ms_p95"] > 400 > 150 > fair["frame_delay_ms_p95"]
    assert long["received_in_time_percent"] < 50 < 99 < long["sent_in_time_percent"]
    assert fair["in_time_percent"] > 99
    assert fair["bitrate_mbps_mean"] > long["bitrate_mbps_mean"]


def test_shares_of_frames_add_up(comparison: lab.Comparison) -> None:
    for quality in qualities(comparison):
        shares = sum(quality[name] for name in ("in_time_percent", "late_percent", "missing_percent"))
        assert shares == pytest.approx(100)
        assert quality["frame_delay_ms_p50"] <= quality["frame_delay_ms_p95"] <= quality["frame_delay_ms_p99"]
        assert quality["frozen_percent"] <= quality["frozen_percent_max"]


def test_numbers_of_a_video_call_have_names(comparison: lab.Comparison) -> None:
    (row, _) = comparison.frame("video_call frame delay p95").to_dicts()
    assert row["mean"] == qualities(comparison)[0]["frame_delay_ms_p95"]
    numbers = set(Parts.from_cells(result.cell for result in comparison.results).numbers)
    assert {"video_call in time", "video_call freezes", "video_call frozen", "video_call one-way p99"} <= numbers
    assert not {"bulk frozen", "video_call completed", "video_call MOS"} & numbers
    assert "frozen" in repr(comparison.results[0])


def test_a_comparison_shows_video_calls(tmp_path: Path, aqmlab: Command) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'users.per_side = 0\nprotocol = {warmup = "1 s", duration = "5 s"}\n'
        '[[sources]]\nvideo_call = {flows = 1, rtt = {fixed = "40 ms"}, dscp = "AF41", ecn = "ect0"}\n'
    )
    output = aqmlab("compare", str(spec), *SCHEMES, "--seeds", "1", "--out", str(tmp_path / "out"), "--no-figures").out
    table = output.partition("Quality for people")[2]
    assert all(word in table for word in ("bitrate", "in time", "frame delay p95", "freezes", "frozen"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"flows": 1, "min_rate": "2 Mbit/s"}, r"video_call\.max_rate: must be at least min_rate = 2 Mbit/s, got 1\.5"),
        ({"flows": 1, "packet": "9000 B"}, r"video_call: must have packets of at most link\.mtu"),
        ({"flows": 1, "buffer": {"fixed": "2 s"}}, r"video_call\.buffer\.fixed: must be at most 1 s, got 2 s"),
    ],
)
def test_a_mistake_in_a_video_call_is_refused(source: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError, match=message):
        lab.run(lab.Experiment(**{**SPEC, "sources": [{"video_call": source}]}), out=tmp_path)
