"""Programs over the link in virtual time: ``aqmlab run SPEC --world kernel -- COMMAND``."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab._core import SpecError
from aqmlab.live.kernel_checks import kernel_checks
from aqmlab.live.run import run_command
from conftest import Command

SPEC = """
[link]
rate = "10 Mbit/s"
[queue.codel]
[users]
per_side = 0
[protocol]
warmup = "1 s"
duration = "20 s"
"""

SERVER = """
import socket
with socket.create_server(("", 5000)) as listener:
    connection, _ = listener.accept()
    while connection.recv(1 << 16):
        pass
"""

CLIENT = """
import os, socket, sys, time
with socket.create_connection((os.environ["AQMLAB_SERVER"], 5000)) as connection:
    start = time.monotonic_ns()
    connection.sendall(bytes(2_000_000))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
    print(f"{time.monotonic_ns() - start} ns", flush=True)
print("a line of errors", file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    if lacks := [f"{check.what}: {check.found}" for check in kernel_checks() if not check.ok]:
        pytest.skip("; ".join(lacks))
    file = tmp_path / "link.toml"
    file.write_text(SPEC)
    return file


def test_a_program_takes_the_same_virtual_time_in_each_run(
    spec: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    experiment = lab.Experiment.from_toml(spec, changes=["world=kernel"])
    client, server = ([sys.executable, "-c", program] for program in (CLIENT, SERVER))
    texts = []
    for place in ("first", "second"):
        result, code = run_command(experiment, client, server=server, out=tmp_path / place)
        assert code == 3
        texts.append(capfd.readouterr().out)
    assert texts[0] == texts[1]
    time_text, errors = texts[0].splitlines()
    # Two megabytes in packets of 1500 bytes, each with 38 bytes of overhead, take 1.7 s of 10 Mbit/s.
    assert 1.6e9 < int(time_text.removesuffix(" ns")) < 3e9
    assert errors == "a line of errors"
    # The run ends with the command: after a second of warm-up and the time of the transfer.
    assert 2.6 < result.metadata["simulated_s"] < 5


def test_run_has_the_exit_code_of_its_command(aqmlab: Command, spec: Path, tmp_path: Path) -> None:
    ran = aqmlab("run", str(spec), "--world", "kernel", "--json", "--out", str(tmp_path / "out"), "--", "false")
    assert ran.code == 1, ran.err
    assert json.loads(ran.out)["world"] == "kernel"


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_measures_the_link_in_virtual_time(
    spec: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    experiment = lab.Experiment.from_toml(spec, changes=["world=kernel"])
    command = ["sh", "-c", "iperf3 --client $AQMLAB_SERVER --time 5 --json"]
    result, code = run_command(experiment, command, server=["iperf3", "--server", "--one-off"], out=tmp_path / "out")
    assert code == 0
    text = capfd.readouterr().out
    measured = json.loads(text[text.index('{\n\t"start"') :])["end"]["sum_received"]["bits_per_second"]
    assert 7e6 < measured < 9.7e6
    assert result.cell.world == "kernel"


def test_a_program_that_does_not_exist_has_a_shells_exit_code(spec: Path, tmp_path: Path) -> None:
    experiment = lab.Experiment.from_toml(spec, changes=["world=kernel"])
    assert run_command(experiment, ["no-such-program"], out=tmp_path / "out")[1] == 127


def test_a_program_that_needs_more_than_the_window_ends_with_it(spec: Path, tmp_path: Path) -> None:
    experiment = lab.Experiment.from_toml(spec, changes=["world=kernel"])
    result, code = run_command(experiment, ["sleep", "1000"], out=tmp_path / "out")
    assert (code, result.metadata["simulated_s"]) == (124, 21)


def test_a_command_in_the_simulator_is_refused_in_one_line(aqmlab: Command, tmp_path: Path) -> None:
    file = tmp_path / "link.toml"
    file.write_text(SPEC)
    refused = aqmlab("run", str(file), "--", "curl", "localhost")
    assert refused.code == 2
    assert f"curl: a command needs --world kernel; in real time: aqmlab live {file} -- curl localhost" in refused.err
    with pytest.raises(SpecError, match="command"):
        run_command(lab.Experiment.from_toml(file), [])
