"""Links in series, and links whose rate changes or is another kind of capacity, under the hosts of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of all files

import aqmlab as lab

pytestmark = pytest.mark.usefixtures("_kernel_permitted")


def both_worlds(experiment: dict[str, Any], out: Path) -> tuple[lab.Result, lab.Result]:
    """Run an experiment over the hosts of the kernel and over simulated ones."""
    real, simulated = (
        lab.run(lab.Experiment.model_validate({"world": world, **experiment}), out=out)
        for world in ("kernel", "simulated")
    )
    return real, simulated


def test_users_go_over_a_chain_of_unlike_links(tmp_path: Path) -> None:
    experiment = {
        "link": [
            {"rate": "20 Mbit/s", "device_fifo": 0, "queue": {"pie": {}}},
            {"rate": "4 Mbit/s", "device_fifo": 0, "queue": {"droptail": {"limit": 40}}},
        ],
        "users": {"per_side": 300},
        "protocol": {"warmup": "1 s", "duration": "3 s"},
    }
    real, simulated = both_worlds(experiment, tmp_path)
    first, first_back, second, second_back = real.summary["counters"]
    # Packets that one link has sent come to the other, except those on the wire at the end.
    assert second["arrived"] == pytest.approx(first["sent"], abs=20)
    assert first_back["arrived"] == pytest.approx(second_back["sent"], abs=20)
    assert second["dropped_by_limit"] + second_back["dropped_by_limit"] > 0
    for table in ("queue", "link"):
        assert getattr(real, table).schema == getattr(simulated, table).schema
        assert getattr(real, table)["link"].unique().sort().to_list() == [1, 2]
    # A law's variables are those of its own link alone.
    laws = real.queue.group_by("link").agg(pl.col("p").null_count() / pl.len()).sort("link")
    assert laws["p"].to_list() == [0.0, 1.0]
    # Three seconds of a full link: `make parity` measures how closely the worlds agree.
    assert real.summary["completed_requests"] == pytest.approx(simulated.summary["completed_requests"], rel=0.5)


def datagrams(rate: Any, **link: Any) -> dict[str, Any]:
    """Return datagrams of 2 Mbit/s over a link of this rate."""
    return {
        "link": {"rate": rate, "device_fifo": 0, **link},
        "queue": {"droptail": {"limit": 1000}},
        "users": {"per_side": 0},
        "protocol": {"warmup": "1 s", "duration": "6 s"},
        "sources": [{"datagrams": {"rate": "2 Mbit/s", "packet": "962 B", "spread": "0 s"}}],
    }


def test_queued_packets_leave_at_the_new_rate_after_a_change(tmp_path: Path) -> None:
    # More than it carries for two seconds: what has come is sent at 1 Mbit/s, and what is left of it at 8.
    changes = [{"at": "2 s", "rate": "1 Mbit/s"}, {"at": "4 s", "rate": "8 Mbit/s"}]
    real, simulated = both_worlds(datagrams("4 Mbit/s", rate_changes=changes), tmp_path)
    (source,), (expected,) = real.summary["sources"], simulated.summary["sources"]
    assert source["packets_lost"] == expected["packets_lost"] == 0
    assert source["datagrams"]["delay_ms_mean"] == pytest.approx(expected["datagrams"]["delay_ms_mean"], rel=0.005)
    # Sample by sample as many wait; one more or less has come or gone at that instant.
    queue, simulators = (world.queue.filter(direction=0) for world in (real, simulated))
    assert queue["time_s"].to_list() == simulators["time_s"].to_list()
    pairs = list(zip(queue["packets"], simulators["packets"], strict=True))
    assert max(abs(one - other) for one, other in pairs) <= 1
    assert max(other for _, other in pairs) > 200


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
    real, simulated = both_worlds(datagrams({"up": rate, "down": "8 Mbit/s"}), tmp_path)
    (source,), (expected,) = real.summary["sources"], simulated.summary["sources"]
    # Users of a kernel wake up at whole milliseconds, so that a bucket passes a packet more or less.
    assert source["packets_lost"] == pytest.approx(expected["packets_lost"], abs=3)
    assert source["datagrams"]["delay_ms_mean"] == pytest.approx(
        expected["datagrams"]["delay_ms_mean"], rel=0.01, abs=0.5
    )
    assert (expected["packets_lost"] > 100) == ("policer" in rate)
