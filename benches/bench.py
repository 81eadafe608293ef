"""Speed of the engine: one core, 98 % load, CPU time of the engine's thread alone.

make bench prints a table; `python benches/bench.py --json FILE` writes the numbers too. benches/README.md says how to
read them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from alone import load_engine

HERE = Path(__file__).parent


_core = load_engine()

USERS_PER_MBPS = 93.3
"""Users on each side for 98 % load: 9,330 at 100 Mbit/s (Le et al. 2003)."""

LAWS: dict[str, dict[str, Any]] = {
    "drop-tail 240": {"droptail": {"limit": 240}},
    "ARED 12/36": {"ared": {"min_th": 12, "max_th": 36}},
    "PI 24": {"pi": {"q_ref": 24}},
    "REM 24": {"rem": {"q_ref": 24}},
}

LAWS |= {entry["name"]: {entry["name"]: {}} for entry in json.loads(_core.catalogue())}
"""The first four as in the papers, with and without ECN; then every discipline at its defaults."""

AS_IN_THE_PAPERS = 4

REPEATS = 3
"""The fastest counts: other load of the machine can only add time."""


def spec(
    law: str,
    *,
    ecn: bool = False,
    stack: str = "unc-testbed",
    mbps: int = 100,
    warmup_s: int = 30,
    measured_s: int = 200,
) -> str:
    """Describe 98 % load on a link of this rate, its servers' interfaces as fast as it, all hosts with this stack."""
    parts = {
        "testbed": "unc-2003",
        "link": {"rate": f"{mbps} Mbit/s"},
        "hosts": {"rate": f"{mbps} Mbit/s"},
        "queue": LAWS[law],
        "tcp": {"profile": stack, "ecn": ecn},
        "users": {"per_side": round(USERS_PER_MBPS * mbps)},
        "protocol": {"warmup": f"{warmup_s} s", "duration": f"{measured_s} s"},
    }
    return json.dumps(parts)


def speed(*, measured_s: int = 200, **settings: Any) -> dict[str, float]:
    """Measure the time per packet that arrives at the bottleneck, after the warm-up."""
    seconds = []
    for _ in range(REPEATS):
        simulation = _core.Simulation(_core.Resolved(spec(**settings, measured_s=measured_s)), 1)
        simulation.advance(simulation.end - measured_s)
        before = json.loads(simulation.summary())["bottleneck_packets"]
        start = time.thread_time()
        simulation.advance(measured_s)
        seconds.append(time.thread_time() - start)
        packets = json.loads(simulation.summary())["bottleneck_packets"] - before
    return {"x_real_time": measured_s / min(seconds), "ns_per_packet": 1e9 * min(seconds) / packets}


def instructions_per_packet(describe: Callable[..., str]) -> float:
    """Count instructions: what ten seconds more cost, so that the start cancels.

    ``describe`` gives the spec of ``warmup_s`` and ``measured_s``.
    """
    short, long = (_count(describe(warmup_s=5, measured_s=seconds)) for seconds in (5, 15))
    return (long[0] - short[0]) / (long[1] - short[1])


def _count(text: str) -> tuple[int, int]:
    """Instructions and bottleneck packets of one run."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "spec.json"
        file.write_text(text)
        instructions, output = counted([sys.executable, str(HERE / "alone.py"), str(file)])
    return instructions, json.loads(output)["bottleneck_packets"]


def counted(command: list[str]) -> tuple[int, str]:
    """Run a command under cachegrind, which counts and follows no calls: its instructions, and what it printed."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    process = subprocess.run([*tool, *command], capture_output=True, text=True, check=True)
    read = re.search(r"I +refs: +([\d,]+)", process.stderr)
    assert read is not None, "cachegrind ends by saying how many instructions were read"
    return int(read[1].replace(",", "")), process.stdout


def build_example(package: str, name: str, *options: str) -> Path:
    """Build an example of a crate; cargo says where it put it."""
    command = ["cargo", "build", "--release", "--locked", "-p", package, "--example", name]
    command += [*options, "--message-format", "json"]
    lines = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    built = [json.loads(line) for line in lines]
    return next(Path(line["executable"]) for line in built if line.get("target", {}).get("name") == name)


def memory_mib(minutes: int) -> float:
    """Return how far a run, its tables taken every simulated minute, raises the peak memory of this process."""
    before = peak_mib()
    simulation = _core.Simulation(_core.Resolved(spec("drop-tail 240", measured_s=60 * minutes)), 1)
    while simulation.now < simulation.end:
        simulation.advance(60)
        for table in ("queue", "link", "exchanges"):
            simulation.take(table)
    return peak_mib() - before


def peak_mib() -> float:
    """Return the peak memory of this process."""
    # Not getrusage: what it calls a process's peak began with its parent's.
    line = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert line is not None, "Linux tells a process's peak memory"
    return int(line[1]) / 1024


def memory_in_a_fresh_process(minutes: int) -> float:
    """Peaks never fall, so each run gets a process of its own."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(memory_mib, minutes).result()


def machine() -> dict[str, str]:
    """Say what the numbers were measured on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists() and (model := re.search(r"model name\s*: (.*)", info.read_text())):
        cpu = model[1]
    rustc = subprocess.run(["rustc", "--version"], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    return {
        "cpu": cpu,
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "rustc": rustc,
        "engine": _core.engine_version(),
    }


def main() -> None:
    """Measure, print, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file as well")
    arguments = parser.parse_args()
    counts = shutil.which("valgrind") is not None

    results: dict[str, Any] = {"machine": machine(), "laws": [], "rates": [], "memory": []}
    print(", ".join(results["machine"].values()))
    print(f"\n{'98 % of 100 Mbit/s':<20} {'ECN':<4} {'x real time':>11} {'ns/packet':>9} {'instructions/packet':>19}")
    for number, law in enumerate(LAWS):
        for ecn in (False, True) if number < AS_IN_THE_PAPERS else (False,):
            row: dict[str, Any] = {"law": law, "ecn": ecn, **speed(law=law, ecn=ecn)}
            row["instructions_per_packet"] = instructions_per_packet(partial(spec, law, ecn=ecn)) if counts else None
            results["laws"].append(row)
            count = f"{row['instructions_per_packet']:.0f}" if counts else "no valgrind"
            real_time, ns = row["x_real_time"], row["ns_per_packet"]
            print(f"{law:<20} {'yes' if ecn else 'no':<4} {real_time:>11.0f} {ns:>9.1f} {count:>19}")

    print(f"\n{'PI 24 at 98 % of':<20} {'users':>7} {'ns/packet':>9}")
    for mbps in (10, 100, 1000):
        # About as many packets at each rate.
        row = {"mbps": mbps, **speed(law="PI 24", mbps=mbps, measured_s=20_000 // mbps)}
        results["rates"].append(row)
        print(f"{mbps:>8} Mbit/s {2 * round(USERS_PER_MBPS * mbps):>12} {row['ns_per_packet']:>9.1f}")

    print(f"\n{'simulated minutes':<20} {'peak MiB':>8}")
    for minutes in (10, 120):
        row = {"minutes": minutes, "peak_mib": memory_in_a_fresh_process(minutes)}
        results["memory"].append(row)
        print(f"{minutes:>17} {row['peak_mib']:>11.1f}")

    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
