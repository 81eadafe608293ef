"""The programs: which are installed, their command line for a case, and their runs."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import outputs
from scenario import LONG_ACK_EVERY, Case, Window

HERE = Path(__file__).parent
DEBIAN = {"ns-2": "ns2", "ns-3": "libns3-dev g++ libgsl-dev"}
"""The packages of Debian that have them."""
NS3_LIBRARIES = ("traffic-control", "point-to-point", "internet", "network", "core")


class Failed(Exception):
    """A run that gave nothing."""


@dataclass(frozen=True)
class Run:
    """The output of a peer's run, and notes on it."""

    output: outputs.Output
    crashed: bool


def missing() -> dict[str, str]:
    """Say of each peer that is not here, in a line, what it needs."""
    installed = {
        "ns-2": shutil.which("ns") is not None,
        "ns-3": shutil.which("g++") is not None and _has_header("ns3/core-module.h"),
    }
    return {
        name: f"{name}: not here, left out; in Debian: apt-get install {DEBIAN[name]}"
        for name, is_here in installed.items()
        if not is_here
    }


def _has_header(header: str) -> bool:
    probe = subprocess.run(
        ["g++", "-std=c++17", "-E", "-x", "c++", "-"], input=f"#include <{header}>", text=True, capture_output=True
    )
    return probe.returncode == 0


def versions(peers: Sequence[str]) -> dict[str, str]:
    """Say what was compared, and on what machine."""
    by_program = {"aqmlab": version("aqmlab")}
    for peer in peers:
        package = DEBIAN[peer].split()[0]
        query = ["dpkg-query", "--show", "--showformat=${Version}", package]
        known = shutil.which("dpkg-query") and subprocess.run(query, capture_output=True, text=True).stdout
        by_program[peer] = f"{package} {known}" if known else "of unknown version"
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    by_program["machine"] = f"{cpu[1] if cpu else platform.machine()}, {platform.system()} {platform.release()}"
    return by_program


def build(work: Path) -> None:
    """Compile the drivers of ns-3.

    Raises
    ------
    Failed
        With the compiler's first complaint.
    """
    for name in ("web", "long"):
        source = HERE / "ns3" / f"{name}.cc"
        libraries = [f"-lns3-{library}" for library in NS3_LIBRARIES]
        _run(["g++", "-std=c++17", "-O3", str(source), "-o", str(work / f"ns3-{name}"), *libraries])


def command(peer: str, case: Case, work: Path, settings: dict[str, object]) -> list[str]:
    """Return the command that runs a case with these settings of its driver."""
    traffic = "long" if case.rtts_ms else "web"
    settings = {"queue": case.queue, "limit": case.limit, "rate": case.rate_mbps * 10**6, **settings}
    settings["window"] = case.window_segments
    if case.rtts_ms:
        settings["rtts"] = ",".join(f"{rtt:g}" for rtt in case.rtts_ms)
        settings["segments_per_ack"] = LONG_ACK_EVERY[peer]
    if peer == "ns-2":
        return ["ns", str(HERE / "ns2" / f"{traffic}.tcl"), *(f"{name}={value}" for name, value in settings.items())]
    return [str(work / f"ns3-{traffic}"), *(f"--{name}={value}" for name, value in settings.items())]


def run(peer: str, case: Case, work: Path, settings: dict[str, object]) -> Run:
    """Run a peer's driver. One that crashed may have told enough before.

    Raises
    ------
    Failed
        When it says nothing that can be read.
    """
    words = command(peer, case, work, settings)
    process = subprocess.run(words, capture_output=True, text=True)
    try:
        return Run(outputs.read(process.stdout), crashed=process.returncode != 0)
    except ValueError:
        raise Failed(f"{peer}, {case.name}: {_last_words(process)}") from None


def run_aqmlab(specs: dict[float, dict[str, Any]], work: Path) -> tuple[outputs.Mark, ...]:
    """Time aqmlab on specs, each known by its end, in a fresh process."""
    words = [sys.executable, str(HERE.parent / "timed.py")]
    for end_s, spec in specs.items():
        file = work / f"spec-{end_s:g}.json"
        file.write_text(json.dumps(spec))
        words += [f"{end_s:g}", str(file)]
    return outputs.marks(_run(words))


def settings_of(window: Window) -> dict[str, object]:
    """Return the window as arguments of the drivers."""
    return {"warm": f"{window.warm_s:g}", "stop": f"{window.stop_s:g}"}


def _run(words: list[str]) -> str:
    process = subprocess.run(words, capture_output=True, text=True)
    if process.returncode != 0:
        raise Failed(f"{Path(words[0]).name}: {_last_words(process)}")
    return process.stdout


def _last_words(process: subprocess.CompletedProcess[str]) -> str:
    if process.returncode < 0:
        return f"ended by signal {-process.returncode}"
    lines = (process.stderr or process.stdout).strip().splitlines()
    return lines[0] if lines else f"exit code {process.returncode} without a message"
