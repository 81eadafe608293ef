"""The live laboratory: real TCP in network namespaces, as root and as anybody; and that nothing of it is left."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.cells.cell import cells_of
from aqmlab.live.run import run_live
from aqmlab.running.errors import LiveError
from aqmlab.running.process import PROGRAM, LiveRun
from aqmlab.storage.drafts import Drafts
from conftest import Command

pytestmark = pytest.mark.usefixtures("_live_permitted")

SPEC = """
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


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "live.toml"
    file.write_text(SPEC)
    return file


def test_a_live_run_has_the_simulated_runs_users_and_tables(spec: Path, tmp_path: Path) -> None:
    experiment = lab.Experiment.from_toml(spec, changes=["queue.pi.q_ref=24"])
    live, simulated = run_live(experiment, out=tmp_path / "results"), lab.run(experiment, out=tmp_path / "results")
    assert live.metadata["live"]["kernel"] == os.uname().release == live.cell.kernel
    assert live.metadata["live"]["tcp"][0]["read_back"]["TCP_CONGESTION"] == "reno"
    # One seed, one set of users: what they ask for differs only as far as they wait longer or less long.
    assert live.summary["completed_requests"] == pytest.approx(simulated.summary["completed_requests"], rel=0.2)
    assert live.summary["throughput_mbps"] == pytest.approx(simulated.summary["throughput_mbps"], rel=0.3)
    assert live.summary["aborted_requests"] == 0
    assert live.metadata["live"]["tcp_counters"]["TCPDeliveredCE"] == 0
    for way in live.summary["counters"]:
        dropped = sum(way[name] for name in way if name.startswith("dropped"))
        assert way["arrived"] == way["sent"] + way["evicted"] + way["held"] + dropped > 0
    for table in ("queue", "link", "response_times"):
        assert getattr(live, table).schema == getattr(simulated, table).schema
        assert getattr(live, table).height > 0
    assert live.queue["time_s"].to_list() == simulated.queue["time_s"].to_list()
    worlds = lab.Store(tmp_path / "results").cells().select("world", "kernel").rows()
    assert sorted(worlds) == [("live", os.uname().release), ("simulated", None)]


@pytest.mark.parametrize("device", ["tun", "veth"])
def test_a_run_can_be_had_over_either_device(aqmlab: Command, spec: Path, device: str) -> None:
    if device == "tun" and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("/dev/net/tun may not be opened")
    outcome = aqmlab("live", str(spec), "--device", device, "--json", "--set", "protocol.duration=1 s")
    assert outcome.code == 0
    record = json.loads(outcome.out)
    assert record["world"] == "live"
    assert record["valid"] == (not record["invalid_reasons"])
    metadata = json.loads((Path(record["cell"]) / "metadata.json").read_text())
    assert metadata["live"]["device"] == device
    assert record["completed_requests"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_nobody_can_run_it(spec: Path) -> None:
    (cell,) = cells_of(lab.Experiment.from_toml(spec, changes=["protocol.duration=1 s"]), [1])
    # A directory that the other user cannot read.
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        program = shutil.copy(PROGRAM, directory)
        process = subprocess.run(
            [program],
            input=json.dumps({"spec": cell.resolved, "seed": 1}).encode(),
            capture_output=True,
            user=65534,
            group=65534,
            extra_groups=[],
            check=False,
        )
    last = json.loads(process.stdout[process.stdout.rindex(b'{"summary"') :])
    assert process.returncode == 0
    assert last["live"]["user_namespace"]
    assert last["summary"]["completed_requests"] > 0


def test_what_live_does_not_have_is_refused_in_one_line(aqmlab: Command, spec: Path) -> None:
    no_answer = "Linux answers no mark on a SYN/ACK, neither the client nor the server"
    data_alone = "Linux makes new data ECN-capable and nothing else"
    ecn = {
        **dict.fromkeys(("ecn+", "ecn+/wait", "ecn+/try-once"), no_answer),
        **dict.fromkeys(("ecn++", "accurate++"), data_alone),
        "accurate": "no kernel that it was tried on takes a mode of tcp_ecn for it",
    }
    for change, refusal in [
        *((f"tcp.ecn={name}", f"tcp.ecn: live has no {name}: {reason}") for name, reason in ecn.items()),
        ("tcp.ecn=dctcp", "tcp.congestion: live needs dctcp with ecn = dctcp, got reno"),
        ("tcp.nagle=true", "tcp.nagle: live has none: Linux holds a small segment back behind another small one alone"),
        ("tcp.ecn=true tcp.abe=true", "tcp.abe: live has none: Linux answers a mark as it answers a loss"),
        (
            "record.exchanges=true",
            "live has no record.exchanges: the kernel does not say what loss and marks cost each exchange",
        ),
        (
            "sources=[{bulk={flows=1}}] record.flows=changes",
            'record.flows: the kernel reports no changes: write a period such as "10 ms", got "changes"',
        ),
        (
            "sources=[{video_call={flows=1}}]",
            "sources[0].video_call: live has no video calls: its program sends no feedback over UDP",
        ),
    ]:
        outcome = aqmlab("live", str(spec), *(word for assignment in change.split() for word in ("--set", assignment)))
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == f"aqmlab: {refusal}\n"
    assert not list(Path("results/cells").glob("*"))


@pytest.mark.slow
def test_an_invalid_run_says_so_and_only_it_is_rerun(aqmlab: Command, spec: Path) -> None:
    def run(*options: str) -> dict[str, object]:
        outcome = aqmlab("live", str(spec), "--set", "protocol.duration=1 s", "--json", *options)
        record: dict[str, object] = json.loads(outcome.out)
        metadata = json.loads((Path(str(record["cell"])) / "metadata.json").read_text())
        return {**record, "created": metadata["created"]}

    late = ("--late-p99", "--late-p999", "--late-reads", "--late-users")
    anyhow = (*(word for option in late for word in (option, "1e6")), "--cpu-left", "0")
    invalid_run = run(*anyhow, "--late-p99", "0")
    assert (invalid_run["valid"], len(invalid_run["invalid_reasons"])) == (False, 1)  # type: ignore[arg-type]
    for option, strictest, reason in (
        ("--late-reads", "0", "the lateness of the router's reads p99"),
        ("--late-users", "0", "the users' lateness p99"),
        ("--cpu-left", "100", "the processors had "),
    ):
        reasons = run(*anyhow, option, strictest)["invalid_reasons"]
        assert isinstance(reasons, list)
        assert [reason in line for line in reasons] == [True]
    assert lab.Store("results").cells()["valid"].to_list() == [False]
    assert "INVALID" in aqmlab("ls").out
    always = run(*anyhow)
    assert (always["valid"], always["invalid_reasons"]) == (True, [])
    assert always["created"] != invalid_run["created"]
    assert run(*anyhow)["created"] == always["created"]


def namespaces_of(process: int) -> set[str]:
    """Name the network namespaces that the threads of a process are in."""
    names = set()
    for task in Path(f"/proc/{process}/task").glob("*"):
        with contextlib.suppress(OSError):
            names.add(str((task / "ns/net").readlink()))
    return names


def links_and_routes() -> tuple[list[str], str]:
    """Name the interfaces and the routes of the machine."""
    interfaces = [line.partition(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    return interfaces, Path("/proc/net/route").read_text()


def children(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(child) for child in text.split()]


def wait_for(event: str, condition: object, seconds: float = 20.0) -> None:
    """Wait until something is so."""
    assert callable(condition)
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail(f"waited {seconds} s for {event}")


@contextlib.contextmanager
def running(spec: Path, directory: Path) -> Iterator[tuple[int, int]]:
    """Run ``aqmlab live``: its process, and that of the run."""
    command = [sys.executable, "-m", "aqmlab", "live", str(spec), "--set", "protocol.duration=60 s"]
    temporary = directory / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            wait_for("the run", lambda: children(process.pid))
            (run,) = children(process.pid)
            yield process.pid, run
            process.wait(timeout=20)
        finally:
            process.kill()


def started_from(directory: Path) -> list[str]:
    """List processes with a directory in their environment, as all have that :func:`running` starts."""
    processes = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if bytes(directory) in environment.read_bytes():
                processes.append(environment.parent.name)
    return processes


_DRAWN = random.Random(2003)
MOMENTS_S = [10 ** _DRAWN.uniform(-3.0, 0.2) for _ in range(10)]
"""Ten random moments after the start of a run, the logarithm of a second as likely as another."""


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("after_s", MOMENTS_S, ids=lambda after_s: f"{1e3 * after_s:.0f} ms")
def test_nothing_is_left_of_a_run_whose_processes_are_killed(
    spec: Path, tmp_path: Path, victim: int, after_s: float
) -> None:
    machine = links_and_routes()
    with running(spec, tmp_path) as processes:
        time.sleep(after_s)
        assert started_from(tmp_path)
        os.kill(processes[victim], signal.SIGKILL)
        wait_for("the end of the run", lambda: not Path(f"/proc/{processes[1]}/exe").exists())
    # Its namespaces have no names: they go with the last process, and another run's may have their numbers by now.
    assert not started_from(tmp_path)
    assert links_and_routes() == machine
    assert not list((tmp_path / "temporary").iterdir())
    assert lab.Store(tmp_path / "results").cells().is_empty()
    # The next writer removes what the killed process had begun to write.
    drafts = tmp_path / "results" / "drafts"
    if drafts.exists():
        Drafts(drafts).sweep()
    assert not list(drafts.glob("*/"))


def test_a_run_that_is_killed_is_told_of_in_one_line(spec: Path, tmp_path: Path) -> None:
    (cell,) = cells_of(lab.Experiment.from_toml(spec), [1])
    with LiveRun(cell) as run:
        os.kill(run.process, signal.SIGKILL)
        with pytest.raises(LiveError, match=r"^live: aqmlab-live ended before the run did \(SIGKILL\)$"):
            run.advance(60.0)


def test_the_first_line_of_a_live_run_names_its_testbed(aqmlab: Command, spec: Path) -> None:
    outcome = aqmlab("live", str(spec), "--set", "protocol.duration=1 s")
    assert outcome.out.startswith("Testbed unc-2003: "), outcome.err


def test_a_mix_that_the_kernel_lacks_is_refused_in_one_line(aqmlab: Command, spec: Path) -> None:
    with spec.open("a") as file:
        file.write("[[tcp.mix]]\nshare = 0.5\nsack = true\n")
    outcome = aqmlab("live", str(spec))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "aqmlab: tcp.mix[0].sack: the kernel has one for all hosts of a side, and those of side 0 have false and true\n"
    )
