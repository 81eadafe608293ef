"""Web users over the TCP of a kernel: with the same settings, simulated hosts give them the same response times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of all files

import aqmlab as lab
from aqmlab.cells.cell import cells_of

pytestmark = pytest.mark.usefixtures("_kernel_permitted")


def both_worlds(out: Path, **experiment: Any) -> list[Mapping[str, Any]]:
    """Return the summaries of an experiment over the hosts of the kernel and over simulated ones."""
    return [lab.run(lab.Experiment(world=world, **experiment), out=out).summary for world in ("kernel", "simulated")]


@pytest.mark.parametrize("profile", ["unc-testbed", "linux-6"])
def test_web_users_on_an_idle_link_wait_as_long_in_both_worlds(tmp_path: Path, profile: str) -> None:
    real, simulated = both_worlds(
        tmp_path,
        testbed="unc-2003",
        link={"rate": "20 Mbit/s"},
        users={"per_side": 300},
        tcp={"profile": profile},
        protocol={"warmup": "2 s", "duration": "8 s"},
    )
    # The users are the same; an exchange at either end of the window may fall on its other side.
    assert real["completed_requests"] == pytest.approx(simulated["completed_requests"], rel=0.03)
    # A tick of the kernel's timers, 4 ms at most, and what waits behind another's burst.
    for quantile in ("p25", "p50", "p75"):
        assert real["response_time_ms"][quantile] == pytest.approx(simulated["response_time_ms"][quantile], rel=0.1)
    # Segments and their acknowledgements, one for one where hosts of 2001 acknowledge each.
    least = 0.05 if profile == "unc-testbed" else 0.15
    assert real["packet_bytes_mean"] == pytest.approx(simulated["packet_bytes_mean"], rel=least)
    assert real["loss_percent"] == simulated["loss_percent"] == 0.0


def test_a_long_response_takes_one_rtt_a_window_in_both_worlds(tmp_path: Path) -> None:
    (cell,) = cells_of(lab.Experiment(users={"per_side": 1}), [1])
    # A page is one object of 1 GB, and people hardly wait for it.
    workload = {
        **cell.resolved["users"]["workload"],
        "name": "long",
        "persistent_response_cap_bytes": 10**9,
        "top_level_bytes": {"source": "this test", "nodes": [[0.0, 9e8], [0.9, 1e9]]},
        "think_seconds": {"source": "this test", "nodes": [[0.0, 0.1], [0.9, 0.2]]},
    }
    rtt = {"source": "this test", "distribution": {"uniform_ms": {"min": 100, "max": 100}}}
    real, simulated = both_worlds(
        tmp_path,
        testbed="unc-2003",
        link={"rate": "20 Mbit/s"},
        users={"per_side": 4, "sides": 1, "workload": workload, "rtt": rtt},
        tcp={"receive_window": 32 * 1460},
        protocol={"warmup": "3 s", "duration": "5 s"},
    )
    # Four windows of data a round trip, of 100 ms, a millisecond of wires and the window's time on the link.
    data = max(way["throughput_mbps"] for way in real["directions"])
    assert data == pytest.approx(max(way["throughput_mbps"] for way in simulated["directions"]), rel=0.03)
    assert data == pytest.approx(4 * 32 * 1500 * 8 / 101e3, rel=0.1)


def test_a_full_link_gives_users_the_same_in_both_worlds(tmp_path: Path) -> None:
    real, simulated = both_worlds(
        tmp_path,
        link={"rate": "5 Mbit/s", "device_fifo": 16},
        queue={"droptail": {"limit": 60}},
        users={"per_side": 500},
        # The kernel's first timeout, which it cannot be told.
        tcp={"initial_rto": "1 s", "syn_backoff": [1, 2, 4, 8, 16, 32, 64]},
        protocol={"warmup": "5 s", "duration": "15 s"},
    )
    # Losses come in bursts, of which there are a few in this time: six seeds of the simulator give from 2.9 to 6.2 %,
    # response times (p50) from 283 to 337 ms, delays from 25 to 30 ms.
    assert real["loss_percent"] == pytest.approx(simulated["loss_percent"], rel=0.5)
    assert real["throughput_mbps"] == pytest.approx(simulated["throughput_mbps"], rel=0.1)
    assert real["completed_requests"] == pytest.approx(simulated["completed_requests"], rel=0.1)
    assert real["response_time_ms"]["p50"] == pytest.approx(simulated["response_time_ms"]["p50"], rel=0.2)
    assert real["queue_delay_ms"]["mean"] == pytest.approx(simulated["queue_delay_ms"]["mean"], rel=0.25)
