"""Hosts of a kernel: their settings, ECN, broken connections, and the statistics of their sockets."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of all files

import aqmlab as lab
from aqmlab.live.run import run_command

pytestmark = pytest.mark.usefixtures("_kernel_permitted")

SPEC = """
world = "kernel"
testbed = "unc-2003"
[link]
rate = "20 Mbit/s"
[queue.droptail]
limit = 100
[users]
per_side = 200
[protocol]
warmup = "1 s"
duration = "3 s"
"""

MARKING = ["queue.red.min_th=1", "queue.red.max_th=10", "queue.red.w_q=0.5", "tcp.ecn=true", "link.device_fifo=0"]
"""Changes that make the queue mark, or drop, early, and the hosts negotiate ECN."""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.toml"
    file.write_text(SPEC)
    return file


def run(spec: Path, *changes: str) -> lab.Result:
    return lab.run(lab.Experiment.from_toml(spec, changes=list(changes)), out=spec.parent / "results")


def test_packets_are_marked_and_their_senders_hear_of_it(spec: Path) -> None:
    result = run(spec, *MARKING)
    kernel = result.metadata["kernel"]
    assert [side["read_back"]["ipv4/tcp_ecn"] for side in kernel["tcp"]] == ["1", "1"]
    assert sum(way["marked"] for way in result.summary["counters"]) > 0
    assert kernel["measured"]["tcp_counters"]["TCPDeliveredCE"] > 0


def test_ecn_hosts_behind_noecn_get_drops_and_no_marks(spec: Path) -> None:
    result = run(spec, *MARKING, "queue.red.noecn=true")
    kernel = result.metadata["kernel"]
    # The hosts have negotiated ECN, and none of their packets is marked.
    assert [side["read_back"]["ipv4/tcp_ecn"] for side in kernel["tcp"]] == ["1", "1"]
    assert [way["marked"] for way in result.summary["counters"]] == [0, 0]
    assert sum(way["dropped_early"] for way in result.summary["counters"]) > 0
    assert kernel["measured"]["tcp_counters"]["TCPDeliveredCE"] == 0


def test_users_of_one_side_alone_match_the_simulated_ones(spec: Path) -> None:
    real, simulated = (run(spec, "users.sides=1", f"world={world}").summary for world in ("kernel", "simulated"))
    assert real["completed_requests"] == pytest.approx(simulated["completed_requests"], rel=0.1)
    for way in real["counters"]:
        dropped = sum(way[name] for name in way if name.startswith("dropped"))
        assert way["arrived"] == way["sent"] + way["evicted"] + way["held"] + dropped > 0


def test_broken_connections_are_counted(spec: Path) -> None:
    # Hardly anything comes through, and a SYN is given up after two seconds.
    narrow = ["link.rate=10 kbit/s", "queue.droptail.limit=1", "link.device_fifo=0", "protocol.duration=5 s"]
    result = run(spec, *narrow, "tcp.syn_backoff=[1, 1, 1]", "tcp.connect_timeout=2 s")
    measured = result.metadata["kernel"]["measured"]
    broken, ends = (sum(measured[name].values()) for name in ("socket_errors", "ends_by_congestion"))
    assert 0 < broken < ends


def test_each_side_has_its_stack_and_each_socket_its_control(spec: Path) -> None:
    with spec.open("a") as file:
        # All of side 1 is Linux as it is, but for a third of its servers.
        file.write("""
            [[tcp.mix]]
            share = 0.3
            side = 1
            role = "server"
            profile = "linux-6"
            congestion = "reno"
            [[tcp.mix]]
            share = 0.7
            side = 1
            role = "server"
            profile = "linux-6"
            [[tcp.mix]]
            share = 1
            side = 1
            role = "client"
            profile = "linux-6"
        """)
    result = run(spec)
    kernel = result.metadata["kernel"]
    old, new = kernel["tcp"]
    assert (old["read_back"]["TCP_CONGESTION"], new["read_back"]["TCP_CONGESTION"]) == ("reno", "cubic reno")
    assert (old["read_back"]["ipv4/tcp_sack"], new["read_back"]["ipv4/tcp_sack"]) == ("0", "1")
    assert (old["route"]["initial_window"], new["route"]["initial_window"]) == (2, 10)
    assert (old["offers_at_most"], new["offers_at_most"]) == (16_384, None)
    # A side has as many clients as servers: a quarter of all ends are servers of side 1.
    ends = kernel["measured"]["ends_by_congestion"]
    assert ends["cubic"] / sum(ends.values()) == pytest.approx((1 + 0.7) / 4, abs=0.06)
    assert result.summary["completed_requests"] > 0


def test_users_go_on_beside_a_program(spec: Path) -> None:
    result, code = run_command(lab.Experiment.from_toml(spec), ["sleep", "2"], out=spec.parent / "results")
    assert code == 0
    assert result.summary["completed_requests"] > 0
    # Warm-up and command: it ends with that, and not with the window.
    assert 2.9 < result.metadata["simulated_s"] < 3.9


SERVER = """
import json, socket, struct, time
def said(connection):
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    # Offsets in struct tcp_info (linux/tcp.h).
    names = {"segments_out": 136, "segments_in": 140, "marks": 196}
    words = {name: struct.unpack_from("=I", info, at)[0] for name, at in names.items()}
    return words | dict(zip(("bytes", "again"), struct.unpack_from("=QQ", info, 200)))
listener = socket.create_server(("", 5000))
connection, _ = listener.accept()
connection.settimeout(60)
until = time.monotonic() + SECONDS
while time.monotonic() < until:
    connection.send(bytes(65536))
connection.shutdown(socket.SHUT_WR)
# The client closes when it has read everything.
connection.recv(1)
print(json.dumps(said(connection)), flush=True)
"""

CLIENT = """
import json, os, socket, time
connection = socket.create_connection((os.environ["AQMLAB_SERVER"], 5000))
read = 0
while data := connection.recv(65536):
    read += len(data)
connection.close()
print(json.dumps({"read": read}), flush=True)
time.sleep(0.2)
"""

RATE_MBPS, SECONDS = 20.0, 5
"""Of the link, and how long the server sends."""


def test_sockets_and_router_say_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rtt = {"source": "this test", "distribution": {"uniform_ms": {"min": 40, "max": 40}}}
    experiment = lab.Experiment.model_validate(
        {
            "world": "kernel",
            "link": {"rate": f"{RATE_MBPS} Mbit/s", "device_fifo": 0},
            "queue": {"red": {"min_th": 100, "max_th": 300, "max_p": 0.01}},
            "users": {"per_side": 0, "rtt": rtt},
            "tcp": {"profile": "linux-6", "ecn": True},
            "protocol": {"warmup": "0 s", "duration": "20 s"},
        }
    )
    server = [sys.executable, "-c", SERVER.replace("SECONDS", str(SECONDS))]
    result, code = run_command(experiment, [sys.executable, "-c", CLIENT], server=server, out=tmp_path)
    assert code == 0
    said: dict[str, int] = {}
    for line in capfd.readouterr().out.splitlines():
        said |= json.loads(line)
    forward, reverse = result.summary["counters"]
    # The queue's arrivals are the segments that the sender's socket has sent, but for its SYN/ACK and the closing ones.
    assert reverse["arrived"] == pytest.approx(said["segments_out"], abs=3)
    assert forward["sent"] == pytest.approx(said["segments_in"], abs=3)
    dropped = sum(reverse[name] for name in reverse if name.startswith("dropped"))
    assert reverse["arrived"] == reverse["sent"] + dropped + reverse["evicted"] + reverse["held"]
    assert result.metadata["kernel"]["measured"]["lost_outside"] == 0
    # All written bytes are read. The link carries those, repeated ones, and headers in each packet: 20
    # bytes of IP's, and of TCP's from 32, with timestamps, to 52 with other options.
    assert said["bytes"] - said["again"] == said["read"]
    headers = result.link.filter(direction=1)["bytes"].sum() - said["read"]
    assert 52 * reverse["sent"] <= headers <= 72 * reverse["sent"] + said["again"]
    # The rate, while there is always a packet to send.
    busy = result.link.filter((pl.col("direction") == 1) & pl.col("time_s").is_between(1.0, SECONDS, closed="none"))
    assert result.cell.resolved["link"]["overhead"] == "38 B"
    frame_bytes = float(busy["bytes"].sum()) + 38 * float(busy["packets"].sum())
    assert 8e-6 * frame_bytes / (0.1 * busy.height) == pytest.approx(RATE_MBPS, rel=0.01)
    # Marks reach the sender. One echo reports all marks of a round trip.
    assert reverse["marked"] > 0
    assert said["marks"] > 0
