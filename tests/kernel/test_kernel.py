"""Runs in a Linux kernel in virtual time: reproducible to the byte, and comparable with the simulator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import aqmlab as lab
from aqmlab._core import SpecError
from aqmlab.cells import kernel
from aqmlab.live import kernel_checks as doctor
from aqmlab.live.kernel_checks import kernel_checks
from aqmlab.running.errors import LiveError
from conftest import Command

SPEC = """
world = "kernel"
[link]
rate = "5 Mbit/s"
[queue.codel]
[users]
per_side = 20
[[sources]]
bulk = {flows = 2, rtt = {fixed = "20 ms"}}
[[sources]]
datagrams = {name = "game", rate = "100 kbit/s", packet = "200 B"}
[protocol]
warmup = "1 s"
duration = "2 s"
"""
TABLES = ("queue", "link", "response_times", "summary")

needs_kernel = pytest.mark.usefixtures("_kernel_permitted")


@pytest.fixture(scope="module")
def _kernel_permitted() -> None:
    """Skip where no kernel runs, with the doctor's reason."""
    if lacks := [f"{check.what}: {check.found}" for check in kernel_checks() if not check.ok]:
        pytest.skip("; ".join(lacks))


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.toml"
    file.write_text(SPEC)
    return file


def tables(result: lab.Result) -> dict[str, bytes]:
    return {name: (Path(result.directory) / f"{name}.parquet").read_bytes() for name in TABLES}


@needs_kernel
def test_a_run_in_the_kernel_is_the_same_to_the_byte(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = lab.Experiment.from_toml(spec)
    first = tables(lab.run(experiment, out=tmp_path / "first"))
    # Another environment, temporary directory and store, beside a process that takes the processor.
    (tmp_path / "elsewhere" / "with a longer path").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere" / "with a longer path"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("AQMLAB_FILLER", "x" * 20_000)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            second = tables(lab.run(experiment, out=tmp_path / "second"))
        finally:
            busy.kill()
    assert first == second
    assert first != tables(lab.run(experiment, seed=2, out=tmp_path / "first"))


@needs_kernel
def test_users_of_the_kernel_are_those_of_the_simulator(spec: Path, tmp_path: Path) -> None:
    # In two seconds one page more or less is a third of all requests.
    long = ["protocol.duration=20 s"]
    results = [
        lab.run(lab.Experiment.from_toml(spec, changes=[f"world={world}", *long]), out=tmp_path / "results")
        for world in ("kernel", "simulated")
    ]
    real, simulated = results
    assert (real.cell.world, real.cell.kernel) == ("kernel", kernel.release())
    assert real.cell.key != simulated.cell.key
    for name, tolerance in (("completed_requests", 0.1), ("throughput_mbps", 0.1)):
        assert real.summary[name] == pytest.approx(simulated.summary[name], rel=tolerance)
    for table in ("queue", "link", "response_times"):
        assert getattr(real, table).schema == getattr(simulated, table).schema
    for way in real.summary["counters"]:
        dropped = sum(way[name] for name in way if name.startswith("dropped"))
        assert way["arrived"] == way["sent"] + way["evicted"] + way["held"] + dropped > 0
    measured = real.metadata["kernel"]["measured"]
    assert (measured["strays"], measured["lost_outside"], measured["socket_errors"]) == (0, 0, {})


@needs_kernel
def test_a_capture_of_the_kernel_has_its_packets(spec: Path, tmp_path: Path) -> None:
    experiment = lab.Experiment.from_toml(spec, changes=["protocol.duration=1 s"])
    plain = lab.run(experiment, out=tmp_path / "plain")
    file = tmp_path / "kernel.pcapng"
    captured = lab.run(experiment, out=tmp_path / "captured", pcap=lab.Pcap(file=file))
    assert tables(plain) == tables(captured)
    assert file.stat().st_size > 1000


@needs_kernel
def test_what_the_kernel_lacks_is_refused_in_one_line(spec: Path, tmp_path: Path) -> None:
    for change, word in (("record.exchanges=true", "record.exchanges"), ("tcp.nagle=true", "nagle")):
        experiment = lab.Experiment.from_toml(spec, changes=[change])
        with pytest.raises(SpecError, match=word) as caught:
            lab.run(experiment, out=tmp_path / "results")
        assert "\n" not in str(caught.value)


@needs_kernel
def test_nothing_is_left_of_a_killed_run(spec: Path, tmp_path: Path) -> None:
    code = "import sys, aqmlab as lab; lab.run(lab.Experiment.from_toml(sys.argv[1]), out=sys.argv[2])"
    changed = tmp_path / "long.toml"
    changed.write_text(spec.read_text().replace('duration = "2 s"', 'duration = "1000 s"'))
    with subprocess.Popen([sys.executable, "-c", code, changed, tmp_path / "results"]) as command:
        kernels = _wait(lambda: _below(command.pid))
        os.kill(command.pid, signal.SIGKILL)
    _wait(lambda: not any(_alive(process) for process in kernels) or None)


def _below(process: int) -> list[int] | None:
    """Return the processes of the kernel that this process has started, once there are several."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    found = [int(child) for child in children]
    for child in found:
        found += [int(below) for below in Path(f"/proc/{child}/task/{child}/children").read_text().split()]
    return found if len(found) > 1 else None


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait(condition: object) -> list[int]:
    for _ in range(600):
        if (found := condition()) is not None:  # type: ignore[operator]
            return found if isinstance(found, list) else []
        time.sleep(0.05)
    raise AssertionError("not within 30 s")


@needs_kernel
def test_the_world_is_an_option_of_run_and_compare(aqmlab: Command, spec: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "results")
    simulated = spec.with_name("simulated.toml")
    simulated.write_text(spec.read_text().replace('world = "kernel"\n', ""))
    ran = json.loads(aqmlab("run", str(simulated), "--world", "kernel", "--out", out, "--json").out)
    assert (ran["world"], ran["kernel"]) == ("kernel", kernel.release())
    arguments = ["compare", str(simulated), "codel", "droptail", "--world", "kernel", "--seeds", "1", "--out", out]
    shown = aqmlab(*arguments, "--no-figures", "--no-baseline").out
    assert "codel" in shown
    cells = lab.Store(out).cells()
    assert set(cells["world"]) == {"kernel"}
    assert cells.height == 2


def test_without_a_kernel_its_world_is_refused_in_one_line(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "PROGRAM", tmp_path / "linux-aqmlab")
    kernel.release.cache_clear()
    with pytest.raises(SpecError, match=r"^world: .* make kernel$"):
        lab.run(lab.Experiment.from_toml(spec), out=tmp_path / "results")
    kernel.release.cache_clear()


@needs_kernel
def test_a_machine_without_ptrace_is_named_in_one_line(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It ends as the kernel does where it may trace no process.
    untraceable = tmp_path / "linux-aqmlab"
    untraceable.write_text("#!/bin/sh\necho 'check_ptrace: Operation not permitted' >&2\nexit 1\n")
    untraceable.chmod(0o755)
    untraceable.with_suffix(".release").write_text(kernel.release())
    monkeypatch.setattr(kernel, "PROGRAM", untraceable)
    (check,) = doctor.kernel_checks()
    assert (check.ok, check.found) == (False, "check_ptrace: Operation not permitted")
    assert "ptrace_scope" in (check.lack or "")
    with pytest.raises(LiveError, match=r"^kernel: linux-aqmlab ended .*\(exit code 1\); aqmlab doctor says"):
        lab.run(lab.Experiment.from_toml(spec), out=tmp_path / "results")


@pytest.mark.skipif(not kernel.HOSTS.exists(), reason="aqmlab-live is not built: make live, on Linux")
def test_the_guests_program_does_nothing_outside_of_a_guest() -> None:
    mounts = Path("/proc/self/mounts").read_text()
    # As the first process of a process namespace, which is number 1 as well.
    for command in ([], ["unshare", "--pid", "--fork", "--user", "--map-root-user"]):
        ended = subprocess.run([*command, str(kernel.HOSTS), "guest"], capture_output=True, check=False, timeout=60)
        if b"unshare" not in ended.stderr:
            assert b"must be the first process of a kernel in virtual time" in ended.stdout
            assert ended.returncode == 1
    assert Path("/proc/self/mounts").read_text() == mounts


@needs_kernel
def test_parity_in_virtual_time_compares_kernel_and_simulator(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "both.toml"
    spec.write_text("users.per_side = 100\nprotocol = {warmup = '1 s', duration = '3 s'}\nlink.rate = '5 Mbit/s'\n")
    files = ("--figure", "both.svg", "--table", "both.csv")
    outcome = aqmlab(
        "parity", str(spec), "codel", "pi", "--world", "kernel", "--seeds", "2", "--json", "--out", "store", *files
    )
    schemes = json.loads(outcome.out)["schemes"]
    assert [scheme["label"] for scheme in schemes] == ["codel", "pi"]
    for scheme in schemes:
        assert [seed["valid"] for seed in scheme["seeds"]] == [True, True]
        for number, seed in enumerate(scheme["seeds"], start=1):
            worlds = [seed[world] for world in ("kernel", "simulated")]
            assert [(item["world"], item["seed"]) for item in worlds] == [("kernel", number), ("simulated", number)]
            # The same users ask for as much.
            completed = [item["completed_requests"] for item in worlds]
            assert completed[0] == pytest.approx(completed[1], rel=0.2)
        row = scheme["measures"][0]
        assert row["difference"] == pytest.approx(row["kernel"] - row["simulated"])
    rows = pl.read_csv("both.csv").to_dicts()
    assert [(row["scheme"], row["kernel"], row["low"]) for row in rows] == [
        (scheme["label"], row.get("kernel"), row.get("low")) for scheme in schemes for row in scheme["measures"]
    ]
    assert "codel, kernel" in Path("both.svg").read_text()
    late = aqmlab("parity", str(spec), "--world", "kernel", "--late-p99", "5")
    assert late.err == "aqmlab: bounds of validity are for live runs; in virtual time each run is valid\n"
    nowhere = aqmlab("parity", str(spec), "--world", "simulated")
    assert nowhere.err == "aqmlab: world: must be live or kernel, got simulated\n"
