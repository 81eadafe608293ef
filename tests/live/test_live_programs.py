"""Programs of anybody's over the link of the live laboratory, and captures of what passes it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from test_live import children, namespaces_of, wait_for

import aqmlab as lab
from aqmlab._core import SpecError
from aqmlab.live.run import run_command, run_live
from conftest import Command

pytestmark = pytest.mark.usefixtures("_live_permitted")

SPEC = """
[link]
rate = "20 Mbit/s"
[queue.droptail]
limit = 100
[users]
per_side = 0
[tcp]
profile = "linux-6"
[protocol]
warmup = "0 s"
duration = "30 s"
"""

SERVER = [sys.executable, "-m", "http.server", "8000"]
SIZE = 4_000_000

FETCH = """
import os, pathlib, sys, time, urllib.request
began = time.monotonic()
with urllib.request.urlopen(f"http://{os.environ['AQMLAB_SERVER']}:8000/file") as answer:
    content = answer.read()
pathlib.Path("fetched").write_bytes(content)
print("fetched", time.monotonic() - began, flush=True)
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a spec, a file to fetch and a program that fetches it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "live.toml").write_text(SPEC)
    (tmp_path / "file").write_bytes(os.urandom(SIZE))
    (tmp_path / "fetch.py").write_text(FETCH)
    return tmp_path


@pytest.mark.parametrize("device", ["tun", "veth"])
def test_a_program_gets_its_bytes_at_the_rate_of_the_link(aqmlab: Command, directory: Path, device: str) -> None:
    if device == "tun" and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("/dev/net/tun may not be opened")
    server = " ".join(SERVER)
    options = ("--json", "--device", device, "--server", server)
    outcome = aqmlab("live", "live.toml", *options, "--", sys.executable, "fetch.py")
    assert outcome.code == 0
    assert (directory / "fetched").read_bytes() == (directory / "file").read_bytes()
    record = json.loads(outcome.out)
    result = json.loads((Path(record["cell"]) / "metadata.json").read_text())
    assert result["live"]["exit_codes"] == [0, None]
    assert result["live"]["command"] == [sys.executable, "fetch.py"]
    # It ends with the program, and not with the window.
    assert result["simulated_s"] < 25
    # What came over the link, by what the link says: headers of 40 to 60 bytes, and what was sent again.
    back = record["directions"][1]
    ways = lab.Store("results").scan("summary").collect()
    (sent,) = ways["counters"].to_list()[0][1:]
    assert sent["sent"] >= SIZE / 1460
    # As much in a tenth of a second as the link carries, and never more; how often there is so much, programs decide.
    carried = lab.Store("results").scan("link").collect().filter(direction=1)
    frames_mbps = 8e-6 * (carried["bytes"] + 38 * carried["packets"]) / 0.1
    assert frames_mbps.max() == pytest.approx(20, rel=0.02)
    assert back["throughput_mbps"] < 20


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_curl_fetches_over_the_link(aqmlab: Command, directory: Path) -> None:
    fetch = "curl --silent --fail --noproxy '*' --output fetched http://$AQMLAB_SERVER:8000/file"
    outcome = aqmlab("live", "live.toml", "--server", " ".join(SERVER), "--", "sh", "-c", fetch)
    assert outcome.code == 0
    assert (directory / "fetched").read_bytes() == (directory / "file").read_bytes()
    # Its own, where it is answered by an error (curl(1)).
    missing = fetch.replace("/file", "/none")
    assert aqmlab("live", "live.toml", "--server", " ".join(SERVER), "--", "sh", "-c", missing).code == 22


ECHO = """
import socket
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.bind(("", 5000))
while True:
    to.sendto(*to.recvfrom(2000))
"""

ASK = """
import os, socket
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.connect((os.environ["AQMLAB_SERVER"], 5000))
to.settimeout(10)
for number in range(20):
    to.send(bytes([number]) * 500)
    assert to.recv(2000) == bytes([number]) * 500
"""


def test_each_datagram_of_a_program_comes_and_is_answered(directory: Path) -> None:
    experiment = lab.Experiment.from_toml("live.toml")
    result, code = run_command(experiment, [sys.executable, "-c", ASK], server=[sys.executable, "-c", ECHO])
    assert code == 0
    for way in result.summary["counters"]:
        assert way["arrived"] == way["sent"] == 20
    # What the last tenth of a second began is not there: the run ends with the program.
    carried = result.link.select(pl.col("bytes", "packets").sum()).row(0)
    assert carried[0] == 528 * carried[1] > 0


def test_a_programs_exit_code_and_output_are_passed_on(aqmlab: Command, directory: Path) -> None:
    speaks = [
        sys.executable,
        "-m",
        "aqmlab",
        "live",
        "live.toml",
        "--",
        "sh",
        "-c",
        "echo it is $AQMLAB_CLIENT; exit 7",
    ]
    spoke = subprocess.run(speaks, capture_output=True, text=True, check=False)
    assert (spoke.returncode, spoke.stderr) == (7, "")
    assert spoke.stdout.startswith("it is 10.0.48.1\n")
    assert aqmlab("live", "live.toml", "--", "no such program").code == 127
    assert aqmlab("live", "live.toml", "--", "sh", "-c", "kill -TERM $$").code == 128 + signal.SIGTERM
    assert aqmlab("live", "live.toml", "--set", "protocol.duration=1 s", "--", "sleep", "60").code == 124


def test_what_a_command_cannot_have_is_one_line(aqmlab: Command, directory: Path) -> None:
    without_programs = aqmlab("live", "live.toml")
    assert (without_programs.code, without_programs.err) == (
        2,
        "aqmlab: users.per_side: must be at least 1 where there are no sources, got 0\n",
    )
    assert aqmlab("live", "live.toml", "--server", "true").err == "aqmlab: --server: needs a command after --\n"
    gone = aqmlab("live", "live.toml", "--server", "false", "--", "true")
    assert gone.code != 0
    assert "live: the server false ended with exit code 1" in gone.err
    with pytest.raises(SpecError, match=r"^command: must be a program and its arguments, got nothing$"):
        run_command(lab.Experiment.from_toml("live.toml"), [])


# Round-trip times of handshakes in the kernel (struct tcp_info of linux/tcp.h): no program delays them.
CONNECTIONS = """
import os, pathlib, socket, struct
spans = []
for _ in range({count}):
    with socket.create_connection((os.environ["AQMLAB_SERVER"], 8000)) as connection:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        spans.append(1e-6 * struct.unpack_from("=I", info, 148)[0])
pathlib.Path("spans").write_text(repr(spans))
"""


def spans_of(experiment: lab.Experiment, directory: Path) -> list[float]:
    """Return the round-trip times of the connections of ``connect.py``, in seconds."""
    result, code = run_command(experiment, [sys.executable, "connect.py"], server=SERVER)
    assert code == 0
    if reasons := result.metadata["live"]["invalid_reasons"]:
        pytest.skip(f"the run is invalid: {'; '.join(reasons)}")
    spans: list[float] = json.loads((directory / "spans").read_text())
    return spans


def test_each_program_connection_draws_its_numbered_rtt(directory: Path) -> None:
    (directory / "connect.py").write_text(CONNECTIONS.format(count=3))
    rtt = {"source": "this test", "distribution": {"uniform_ms": {"min": 50, "max": 250}}}
    experiment = lab.Experiment(users={"per_side": 0, "rtt": rtt}, protocol={"warmup": "0 s", "duration": "20 s"})
    spans = [spans_of(experiment, directory) for _ in range(2)]
    assert len({round(span, 3) for span in spans[0]}) == 3
    for first, second in zip(*spans, strict=True):
        # A millisecond of wires, and as late as a valid run may be, there and back.
        assert 0.05 < first < 0.261
        assert first == pytest.approx(second, abs=0.01)


def test_a_round_trip_is_as_long_as_its_table_says(directory: Path) -> None:
    (directory / "connect.py").write_text(CONNECTIONS.format(count=20))
    rtt = {"source": "this test", "distribution": {"uniform_ms": {"min": 40, "max": 40}}}
    experiment = lab.Experiment(
        link={"rate": "20 Mbit/s", "device_fifo": 0},
        users={"per_side": 0, "rtt": rtt},
        tcp={"profile": "linux-6"},
        protocol={"warmup": "0 s", "duration": "20 s"},
    )
    shortest_s = min(spans_of(experiment, directory))
    # With both wires', and two small packets' time on the link. What is above is the kernel's and the router's doing.
    least_s = 0.040 + 2 * 0.0005 + 2 * (60 + 38) * 8 / 20e6
    assert least_s - 1e-6 <= shortest_s < least_s + 0.0003


DYING_SERVER = """
import os, signal, socket
with socket.create_server(("", 8000)) as listener:
    listener.accept()
    {end}
"""

CONNECT = """
import os, socket, time
socket.create_connection((os.environ["AQMLAB_SERVER"], 8000))
time.sleep(1)
"""


@pytest.mark.parametrize(
    ("end", "code", "reasons"),
    [
        ("raise SystemExit(3)", 3, ["the server ended before the command, with exit code 3"]),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, ["the server ended before the command, with exit code 137"]),
        ("raise SystemExit", 0, []),
    ],
)
def test_a_run_whose_server_dies_is_invalid(directory: Path, end: str, code: int, reasons: list[str]) -> None:
    experiment = lab.Experiment.from_toml("live.toml")
    server = [sys.executable, "-c", DYING_SERVER.format(end=end)]
    result, exit_code = run_command(experiment, [sys.executable, "-c", CONNECT], server=server)
    live = result.metadata["live"]
    assert exit_code == 0
    assert live["exit_codes"] == [0, code]
    assert [reason for reason in live["invalid_reasons"] if "server ended" in reason] == reasons
    assert live["valid"] == (not live["invalid_reasons"])


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_nothing_is_left_of_programs_whose_run_is_killed(directory: Path, victim: int) -> None:
    # Sons that no longer belong to anybody, and do not listen to signals that they can ignore.
    stubborn = "trap '' TERM HUP INT; (setsid sleep 9753 &) ; setsid sleep 9753 & touch started; wait"
    command = [sys.executable, "-m", "aqmlab", "live", "live.toml", "--", "sh", "-c", stubborn]
    own_namespaces = namespaces_of(os.getpid())
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            wait_for("the command", (directory / "started").exists)
            time.sleep(0.2)
            (run,) = children(process.pid)
            run_namespaces = namespaces_of(run) - own_namespaces
            os.kill((process.pid, run)[victim], signal.SIGKILL)
            wait_for("the end of the run", lambda: not Path(f"/proc/{run}/exe").exists())
            process.wait(timeout=20)
        finally:
            process.kill()

    def left() -> set[str]:
        return {
            name for folder in Path("/proc").glob("[0-9]*") for name in namespaces_of(int(folder.name))
        } & run_namespaces

    # The kernel ends them one after another.
    wait_for("the end of all that was started", lambda: not left())


def test_a_capture_counts_what_the_counters_count(directory: Path) -> None:
    changes = [
        "users.per_side=300",
        "link.rate=2 Mbit/s",
        "link.device_fifo=4",
        "queue.droptail.limit=10",
        "protocol.duration=4 s",
    ]
    experiment = lab.Experiment.from_toml("live.toml", changes=[*changes, "record.losses=true"])
    pcap = lab.Pcap(file=directory / "live.pcapng", from_s=0.0)
    result = run_live(experiment, out=directory / "results", pcap=pcap)
    content = (directory / "live.pcapng").read_bytes()
    dropped = sum(way[name] for way in result.summary["counters"] for name in way if name.startswith("dropped"))
    assert content.count(b"dropped ") == dropped == result.losses.height > 0
    arrived = sum(way["arrived"] for way in result.summary["counters"])
    assert content.count(b"queued ") + content.count(b"queued, ") + dropped == arrived
    # Addresses and ports are those of the hosts: a server's port 80 is in each packet.
    rerun = run_live(experiment, out=directory / "results")
    assert (rerun.directory, rerun.metadata["created"]) == (result.directory, result.metadata["created"])
