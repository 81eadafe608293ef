"""Sources beside the users, or alone, over the sockets of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of all files

import aqmlab as lab
from aqmlab._core import SpecError

pytestmark = pytest.mark.usefixtures("_kernel_permitted")

RATE_MBPS = 5.0
WINDOW_S = 4.0


def experiment(*sources: dict[str, Any], users: int = 0, warmup: str = "1 s", world: str = "kernel") -> lab.Experiment:
    return lab.Experiment.model_validate(
        {
            "world": world,
            "link": {"rate": f"{RATE_MBPS:g} Mbit/s", "device_fifo": 0},
            "queue": {"droptail": {"limit": 50}},
            "users": {"per_side": users},
            "tcp": {"profile": "linux-6"},
            "protocol": {"warmup": warmup, "duration": f"{WINDOW_S:g} s"},
            "sources": list(sources),
        }
    )


BULK = {"bulk": {"flows": 3, "spread": "100 ms"}}


def both_worlds(source: dict[str, Any], out: Path) -> list[list[dict[str, Any]]]:
    """Return the summaries of a source over the hosts of the kernel and over simulated ones."""
    return [lab.run(experiment(source, world=world), out=out).summary["sources"] for world in ("kernel", "simulated")]


def test_transfers_without_end_fill_the_link(tmp_path: Path) -> None:
    # What slow start lost has been mended when the window begins.
    summary = lab.run(experiment(BULK, warmup="4 s"), out=tmp_path).summary
    (bulk,) = summary["sources"]
    # Servers send, on the side that the clients are not on; what the other direction carries acknowledges it.
    assert summary["directions"][1]["utilisation"] > 0.97
    # Ethernet frames of 1,538 bytes carry 1,448 bytes of data.
    assert bulk["goodput_mbps"] == pytest.approx(RATE_MBPS * 1448 / 1538, rel=0.04)
    assert bulk["packets_sent"] > bulk["packets_lost"] > 0
    assert (bulk["completed"], bulk["aborted"]) == (0, 0)


def test_the_bytes_of_responses_are_counted_to_the_last(tmp_path: Path) -> None:
    # Responses of this size are read by the kernel, without waking the program.
    request, response = 20_000, 100_000
    transfers = {"rate_per_second": [3.0, 2.0], "size": {"fixed": f"{response} B"}, "request": f"{request} B"}
    # All have ended when the window does.
    every = {"transfers": {**transfers, "stop": "2 s"}}
    (source,) = lab.run(experiment(every, warmup="0 s"), out=tmp_path).summary["sources"]
    assert source["aborted"] == 0
    assert source["completed"] > 3
    assert source["goodput_mbps"] * 1e6 * WINDOW_S / 8 == pytest.approx(source["completed"] * (request + response))


def test_each_datagram_sent_arrives_or_is_dropped_by_a_queue(tmp_path: Path) -> None:
    size = 700
    # Beside transfers, faster than the link so that some must be dropped, and over before the window is, so that none
    # is on its way at the end.
    rate = 1.2 * RATE_MBPS
    cbr = {"datagrams": {"rate": f"{rate:g} Mbit/s", "packet": f"{size} B", "start": "1 s", "stop": "4 s", "side": 1}}
    result = lab.run(experiment(BULK, cbr), out=tmp_path)
    datagrams = result.summary["sources"][1]
    arrived = datagrams["goodput_mbps"] * 1e6 * WINDOW_S / (8 * size)
    assert datagrams["packets_lost"] > 0
    assert datagrams["packets_sent"] == pytest.approx(arrived + datagrams["packets_lost"])
    # They leave at their rate, from some time in the second in which flows start.
    assert rate * 1e6 * 2 / (8 * size) <= datagrams["packets_sent"] <= rate * 1e6 * 3 / (8 * size) + 1
    # None waits longer than fifty packets and the one being sent take, but for what the hosts need.
    longest_ms = 51 * 1538 * 8 / (RATE_MBPS * 1e3)
    assert 0.5 < datagrams["datagrams"]["delay_ms_mean"] < longest_ms + 1
    assert result.metadata["kernel"]["measured"]["lost_outside"] == 0


def test_lone_datagrams_arrive_no_earlier_than_simulated(tmp_path: Path) -> None:
    cbr = {"datagrams": {"flows": 2, "rate": "500 kbit/s", "packet": "1000 B"}}
    (real,), (simulated,) = both_worlds(cbr, tmp_path)
    assert real["packets_sent"] == pytest.approx(simulated["packets_sent"], abs=2)
    assert real["packets_lost"] == simulated["packets_lost"] == 0
    # No packet is faster than the link.
    assert real["datagrams"]["delay_ms_mean"] >= simulated["datagrams"]["delay_ms_mean"]


def test_bursts_of_one_seed_are_those_of_the_simulator(tmp_path: Path) -> None:
    bursts = {"on_off": {"flows": 5, "size": {"fixed": "10 kB"}, "off": {"fixed": "200 ms"}}}
    (real,), (simulated,) = both_worlds(bursts, tmp_path)
    assert real["completed"] == pytest.approx(simulated["completed"], rel=0.15)
    assert real["response_time_ms"]["p50"] == pytest.approx(simulated["response_time_ms"]["p50"], rel=0.15)
    assert real["aborted"] == 0


def test_users_and_sources_are_told_apart(tmp_path: Path) -> None:
    transfers = {"transfers": {"rate_per_second": [5.0, 5.0], "size": {"fixed": "20 kB"}}}
    result = lab.run(experiment(transfers, users=20), out=tmp_path)
    (source,), users = result.summary["sources"], result.summary["users"]
    assert source["completed"] > 0
    assert users["packets_sent"] > 0
    # Who has users counts their requests alone.
    assert result.response_times["count"].sum() == result.summary["completed_requests"]
    offered = sum(way["arrived"] for way in result.summary["counters"])
    assert users["packets_sent"] + source["packets_sent"] <= offered + 10


def test_a_datagram_too_small_for_its_header_is_refused(tmp_path: Path) -> None:
    small = {"datagrams": {"rate": "1 Mbit/s", "packet": "41 B"}}
    with pytest.raises(SpecError, match=r"^sources\[0\]\.datagrams\.packet: .* has at least 42 B, got 41 B$"):
        lab.run(experiment(small), out=tmp_path)


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_a_transfer_has_its_applications_rate(direction: str, tmp_path: Path) -> None:
    changes = [{"at": "2 s", "rate": "1 Mbit/s"}]
    bulk = {"bulk": {**BULK["bulk"], "direction": direction, "rtt": {"fixed": "20 ms"}, "rate_changes": changes}}
    (source,) = lab.run(experiment(bulk, warmup="8 s"), out=tmp_path).summary["sources"]
    # The send buffers, which hold some seconds of data, are empty then.
    assert source["goodput_mbps"] == pytest.approx(3, rel=2e-3)
