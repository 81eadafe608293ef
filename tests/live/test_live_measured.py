"""Sockets' statistics of a live run against its router's: packets, bytes, delay, rate and marks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

import aqmlab as lab
from aqmlab.live.run import run_command
from aqmlab.store.result import Result

pytestmark = pytest.mark.usefixtures("_live_permitted")

SERVER = """
import json, socket, struct, time
def said(connection):
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    # Where struct tcp_info has them (linux/tcp.h).
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
with open("said.json", "w") as file:
    json.dump(said(connection), file)
"""

CLIENT = """
import os, pathlib, socket, time
connection = socket.create_connection((os.environ["AQMLAB_SERVER"], 5000))
read = 0
while data := connection.recv(65536):
    read += len(data)
connection.close()
pathlib.Path("read").write_text(str(read))
while not pathlib.Path("said.json").exists():
    time.sleep(0.01)
time.sleep(0.2)
"""

HANDSHAKES = """
import json, os, socket, struct
said = []
for _ in range(20):
    with socket.create_connection((os.environ["AQMLAB_SERVER"], 5000)) as connection:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        said.append(struct.unpack_from("=I", info, 148)[0])
with open("said.json", "w") as file:
    json.dump(said, file)
"""

RATE_MBPS, RTT_MS, SECONDS = 20.0, 40, 5
"""Of the link, of the table of round trips, and how long the server sends."""


def run(client: str, server: str) -> Result:
    """Run two programs in Python over the link, which leave in ``said.json`` what their sockets said."""
    rtt = {"source": "this test", "distribution": {"uniform_ms": {"min": RTT_MS, "max": RTT_MS}}}
    experiment = lab.Experiment.model_validate(
        {
            "link": {"rate": f"{RATE_MBPS} Mbit/s", "device_fifo": 0},
            "queue": {"red": {"min_th": 100, "max_th": 300, "max_p": 0.01}},
            "users": {"per_side": 0, "rtt": rtt},
            "tcp": {"profile": "linux-6", "ecn": True},
            "protocol": {"warmup": "0 s", "duration": "20 s"},
        }
    )
    result, code = run_command(experiment, [sys.executable, "-c", client], server=[sys.executable, "-c", server])
    assert code == 0
    if reasons := result.metadata["live"]["invalid_reasons"]:
        pytest.skip(f"the run is invalid: {'; '.join(reasons)}")
    return result


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_round_trip_is_as_long_as_its_table_says() -> None:
    run(HANDSHAKES, "import socket, time; listener = socket.create_server(('', 5000)); time.sleep(60)")
    # With both wires', and two small packets' time on the link. What is above is the kernel's and the router's doing.
    least_ms = RTT_MS + 2 * 0.5 + 2 * (60 + 38) * 8e-3 / RATE_MBPS
    shortest_ms = 1e-3 * min(json.loads(Path("said.json").read_text()))
    assert least_ms - 0.001 <= shortest_ms < least_ms + 0.3


def test_sockets_and_router_say_the_same() -> None:
    result = run(CLIENT, SERVER.replace("SECONDS", str(SECONDS)))
    sender, read = json.loads(Path("said.json").read_text()), int(Path("read").read_text())
    forward, reverse = result.summary["counters"]
    # The queue's arrivals are the segments that the sender's socket has sent, but for its SYN/ACK and the closing ones.
    assert reverse["arrived"] == pytest.approx(sender["segments_out"], abs=3)
    assert forward["sent"] == pytest.approx(sender["segments_in"], abs=3)
    dropped = sum(reverse[name] for name in reverse if name.startswith("dropped"))
    assert reverse["arrived"] == reverse["sent"] + dropped + reverse["evicted"] + reverse["held"]
    assert result.metadata["live"]["lost_outside"] == 0
    # What was written is what was read. What the link carried is that, what came twice, and headers in each packet: 20
    # bytes of IP's, and of TCP's from 32, with timestamps, to 52 with other options.
    assert sender["bytes"] - sender["again"] == read
    headers = result.link.filter(direction=1)["bytes"].sum() - read
    assert 52 * reverse["sent"] <= headers <= 72 * reverse["sent"] + sender["again"]
    # The rate, while there is always a packet to send.
    busy = result.link.filter((pl.col("direction") == 1) & pl.col("time_s").is_between(1.0, SECONDS, closed="none"))
    assert result.cell.resolved["link"]["overhead"] == "38 B"
    frame_bytes = float(busy["bytes"].sum()) + 38 * float(busy["packets"].sum())
    assert 8e-6 * frame_bytes / (0.1 * busy.height) == pytest.approx(RATE_MBPS, rel=0.01)
    # Marks reach the sender. One echo reports all marks of a round trip.
    assert reverse["marked"] > 0
    assert sender["marks"] > 0
