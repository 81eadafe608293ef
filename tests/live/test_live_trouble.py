"""Faults of live runs: each is one line, and no namespace or process is left."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from test_live import SPEC, children, links_and_routes, namespaces_of, started_from, wait_for

import aqmlab as lab
from aqmlab.cells.cell import cells_of
from aqmlab.live.run import run_command
from aqmlab.live.settings import Settings
from aqmlab.running.process import PROGRAM

pytestmark = pytest.mark.usefixtures("_live_permitted")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "live.toml"
    file.write_text(SPEC)
    return file


def as_nobody_special(spec: Path, before: str) -> list[dict[str, object]]:
    """Run a spec in a user namespace, in which it cannot raise limits, after a line of shell: what the run says."""
    (cell,) = cells_of(lab.Experiment.from_toml(spec, changes=["users.per_side=2000"]), [1])
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", f'{before} && exec "$0"', str(PROGRAM)]
    request = json.dumps({"spec": cell.resolved, "seed": 1})
    process = subprocess.run(command, input=request, capture_output=True, text=True, check=False, timeout=60)
    if not process.stdout:
        pytest.skip(f"no user namespaces here: {process.stderr}")
    assert (process.returncode, process.stderr) == (1, "")
    return [json.loads(line) for line in process.stdout.splitlines()]


def test_a_limit_of_namespaces_is_named_in_one_line(spec: Path) -> None:
    message = as_nobody_special(spec, "echo 0 > /proc/sys/user/max_net_namespaces")
    limit = "no more are allowed (sysctl user.max_net_namespaces is 0): raise it, or run as root"
    assert message == [{"failed": f"a network namespace: {limit}"}]


def test_a_ban_of_user_namespaces_is_named_in_one_line(spec: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv here")
    ban = "echo 0 > /proc/sys/user/max_user_namespaces"
    message = as_nobody_special(spec, f'{ban} && exec setpriv --bounding-set=-all "$0"; false')
    limit = "no more are allowed (sysctl user.max_user_namespaces is 0): raise it, or run as root"
    assert message == [{"failed": f"a user namespace: {limit}"}]


def test_pairs_of_interfaces_replace_a_tun_that_is_none(spec: Path) -> None:
    (cell,) = cells_of(lab.Experiment.from_toml(spec, changes=["protocol.duration=1 s", "users.per_side=5"]), [1])
    masked = 'mount --bind /dev/null /dev/net/tun && exec "$0"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", masked, str(PROGRAM)]

    def run(device: str | None) -> bytes:
        request = json.dumps({"spec": cell.resolved, "seed": 1, "device": device})
        process = subprocess.run(command, input=request.encode(), capture_output=True, check=False, timeout=60)
        if not process.stdout:
            pytest.skip(f"no mounts in a user namespace here: {process.stderr.decode()}")
        return process.stdout

    assert b'"device":"veth"' in run(None)
    assert json.loads(run("tun")) == {"failed": "/dev/net/tun: it is there, but it is no TUN device"}


def test_too_few_open_files_are_told_of_in_one_line(spec: Path) -> None:
    *seconds, last = as_nobody_special(spec, "ulimit -n 60")
    assert all("now_s" in second for second in seconds)
    assert list(last) == ["failed"]
    assert "Too many open files (os error 24)" in str(last["failed"])


TOO_MANY = """
[link]
rate = "10 Gbit/s"
[queue.droptail]
limit = 10000
[users]
per_side = 60000
[tcp]
profile = "linux-6"
[protocol]
warmup = "0 s"
duration = "3 s"
"""
"""Some 600 Mbit/s in each direction, of packets that one thread has to carry: six times what two processors did."""


def test_too_many_users_end_in_one_line_or_an_invalid_run(tmp_path: Path) -> None:
    machine = links_and_routes()
    spec = tmp_path / "live.toml"
    spec.write_text(TOO_MANY)
    command = [sys.executable, "-m", "aqmlab", "live", str(spec), "--json"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    # Bounded in time, if generously: no number of users keeps it from its end.
    process = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    if process.returncode == 0:
        record = json.loads(process.stdout)
        assert not record["valid"]
        assert record["invalid_reasons"]
    else:
        assert (process.returncode, process.stdout) == (1, "")
        assert re.fullmatch(r"aqmlab: live: .+\n", process.stderr)
    assert not started_from(tmp_path)
    assert links_and_routes() == machine


FLOOD = """
import os, pathlib, socket, sys, time
begun, stopped, over = map(pathlib.Path, sys.argv[1:])
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.connect((os.environ["AQMLAB_SERVER"], 9))
begun.touch()
while not stopped.exists():
    time.sleep(0.01)
for _ in range(60_000):
    try:
        to.send(bytes(1400))
    except OSError:
        # No receiver listens there, or the buffer is full.
        pass
over.touch()
"""
"""More than any device holds: 20,000 packets, or 32 MB as the kernel counts them. It waits for the reader to stop."""


def stop_the_router(us: int, begun: Path, stopped: Path, over: Path) -> None:
    """Hold the run for as long as the flood takes."""
    wait_for("the flood", begun.exists)
    # Other tests may have left helpers of Python's own.
    (run,) = (child for child in children(us) if Path(f"/proc/{child}/exe").resolve() == PROGRAM.resolve())
    os.kill(run, signal.SIGSTOP)
    try:
        # Its first thread is the router: the third word of its line says what that does (proc_pid_stat(5)).
        line = Path(f"/proc/{run}/stat")
        wait_for("the router's stop", lambda: line.read_text().rpartition(")")[2].split()[0] == "T")
        stopped.touch()
        wait_for("the end of the flood", over.exists)
    finally:
        os.kill(run, signal.SIGCONT)


@pytest.mark.parametrize("device", ["tun", "veth"])
def test_what_the_router_had_no_room_for_makes_a_run_invalid(tmp_path: Path, device: str) -> None:
    if device == "tun" and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("/dev/net/tun may not be opened")
    experiment = lab.Experiment.model_validate(
        {
            "queue": {"droptail": {}},
            "users": {"per_side": 0},
            "protocol": {"warmup": "0 s", "duration": "30 s"},
        }
    )
    settings = Settings(device=device)
    moments = [tmp_path / name for name in ("begun", "stopped", "over")]
    sleeper = threading.Thread(target=stop_the_router, args=(os.getpid(), *moments))
    sleeper.start()
    command = [sys.executable, "-c", FLOOD, *map(str, moments)]
    result, code = run_command(experiment, command, out=tmp_path / "results", settings=settings)
    sleeper.join()
    assert code == 0
    live = result.metadata["live"]
    assert not live["valid"]
    assert any(reason.startswith("packets lost outside the queues") for reason in live["invalid_reasons"])


def test_a_command_may_end_while_the_router_sleeps(tmp_path: Path) -> None:
    # Its namespace ends with its side's thread: the router must not find an interface that is gone.
    experiment = lab.Experiment.model_validate(
        {"queue": {"droptail": {}}, "users": {"per_side": 0}, "protocol": {"warmup": "0 s", "duration": "30 s"}}
    )
    settings = Settings(device="veth")
    for _ in range(3):
        _, code = run_command(experiment, ["true"], out=tmp_path, settings=settings)
        assert code == 0


@pytest.mark.slow
def test_an_interrupt_is_one_line_and_leaves_nothing(spec: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "aqmlab", "live", str(spec), "--set", "protocol.duration=60 s"]
    own_namespaces = namespaces_of(os.getpid())
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            wait_for("the run", lambda: children(process.pid))
            (run,) = children(process.pid)
            # The router's and both sides'.
            wait_for("its namespaces", lambda: len(namespaces_of(run) - own_namespaces) == 3)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, b"", b"aqmlab: interrupted\n")
    assert not Path(f"/proc/{run}").exists()
    assert lab.Store(tmp_path / "results").cells().is_empty()
    assert not list((tmp_path / "results").glob("drafts/*/"))
