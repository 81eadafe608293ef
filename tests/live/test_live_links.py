"""Links in series, and links whose rate changes or is another kind of capacity, under real hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import aqmlab as lab
from aqmlab.live.run import run_live

pytestmark = pytest.mark.usefixtures("_live_permitted")


def test_users_go_over_a_chain_of_unlike_links(tmp_path: Path) -> None:
    experiment = lab.Experiment.model_validate(
        {
            "link": [
                {"rate": "20 Mbit/s", "device_fifo": 0, "queue": {"pie": {}}},
                {"rate": "4 Mbit/s", "device_fifo": 0, "queue": {"droptail": {"limit": 40}}},
            ],
            "users": {"per_side": 300},
            "protocol": {"warmup": "1 s", "duration": "3 s"},
        }
    )
    live, simulated = run_live(experiment, out=tmp_path), lab.run(experiment, out=tmp_path)
    first, first_back, second, second_back = live.summary["counters"]
    # What one link has sent comes to the other, but for what is on the wire at the end.
    assert second["arrived"] == pytest.approx(first["sent"], abs=20)
    assert first_back["arrived"] == pytest.approx(second_back["sent"], abs=20)
    assert second["dropped_by_limit"] + second_back["dropped_by_limit"] > 0
    for table in ("queue", "link"):
        assert getattr(live, table).schema == getattr(simulated, table).schema
        assert getattr(live, table)["link"].unique().sort().to_list() == [1, 2]
    # A law's variables are those of its own link alone.
    laws = live.queue.group_by("link").agg(pl.col("p").null_count() / pl.len()).sort("link")
    assert laws["p"].to_list() == [0.0, 1.0]
    # Three seconds on a busy machine: how closely the worlds agree is measured by `make parity`.
    assert live.summary["completed_requests"] == pytest.approx(simulated.summary["completed_requests"], rel=0.5)


def test_queued_packets_leave_at_the_new_rate_after_a_change(tmp_path: Path) -> None:
    # More than it carries for two seconds: what has come is sent at 1 Mbit/s, and what is left of it at 8.
    experiment = lab.Experiment.model_validate(
        {
            "link": {
                "rate": "4 Mbit/s",
                "device_fifo": 0,
                "rate_changes": [{"at": "2 s", "rate": "1 Mbit/s"}, {"at": "4 s", "rate": "8 Mbit/s"}],
            },
            "queue": {"droptail": {"limit": 1000}},
            "users": {"per_side": 0},
            "protocol": {"warmup": "1 s", "duration": "6 s"},
            "sources": [{"datagrams": {"rate": "2 Mbit/s", "packet": "962 B", "spread": "0 s"}}],
        }
    )
    live, simulated = run_live(experiment, out=tmp_path), lab.run(experiment, out=tmp_path)
    if reasons := live.metadata["live"]["invalid_reasons"]:
        pytest.skip(f"the run is invalid: {'; '.join(reasons)}")
    (real,), (expected,) = live.summary["sources"], simulated.summary["sources"]
    assert real["packets_lost"] == expected["packets_lost"] == 0
    assert real["datagrams"]["delay_ms_mean"] == pytest.approx(expected["datagrams"]["delay_ms_mean"], rel=0.02)
    # Sample by sample as many wait; one more or less has come or gone at that instant.
    queue, simulators = (world.queue.filter(direction=0) for world in (live, simulated))
    assert queue["time_s"].to_list() == simulators["time_s"].to_list()
    pairs = list(zip(queue["packets"], simulators["packets"], strict=True))
    assert max(abs(live_ms - simulated_ms) for live_ms, simulated_ms in pairs) <= 3
    assert max(simulated_ms for _, simulated_ms in pairs) > 200


@pytest.mark.parametrize(
    "rate",
    [
        {"trace": {"seconds": [0, 2, 4], "mbps": [4, 1, 8]}},
        {"token_bucket": {"rate": "1800 kbit/s", "burst": "60 kB"}},
        {"policer": {"rate": "1 Mbit/s", "burst": "60 kB"}},
    ],
    ids=lambda rate: next(iter(rate)),
)
def test_a_kind_of_capacity_sends_as_in_the_simulator(rate: dict[str, Any], tmp_path: Path) -> None:
    experiment = lab.Experiment.model_validate(
        {
            "link": {"rate": {"up": rate, "down": "8 Mbit/s"}, "device_fifo": 0},
            "queue": {"droptail": {"limit": 1000}},
            "users": {"per_side": 0},
            "protocol": {"warmup": "1 s", "duration": "6 s"},
            "sources": [{"datagrams": {"rate": "2 Mbit/s", "packet": "962 B", "spread": "0 s"}}],
        }
    )
    live, simulated = run_live(experiment, out=tmp_path), lab.run(experiment, out=tmp_path)
    if reasons := live.metadata["live"]["invalid_reasons"]:
        pytest.skip(f"the run is invalid: {'; '.join(reasons)}")
    (real,), (expected,) = live.summary["sources"], simulated.summary["sources"]
    # A bucket passes a packet more or less when packets come a little earlier or later.
    assert real["packets_lost"] == pytest.approx(expected["packets_lost"], abs=3)
    assert real["datagrams"]["delay_ms_mean"] == pytest.approx(
        expected["datagrams"]["delay_ms_mean"], rel=0.03, abs=0.5
    )
    assert (expected["packets_lost"] > 100) == ("policer" in rate)
