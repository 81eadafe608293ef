"""Instructions by part: the engine's cost per packet, for docs/performance.md.

callgrind counts each machine instruction, the debug information says which lines it comes from, and it is counted for
the innermost one that is ours: what a library or the standard library does counts for its caller. What ten
seconds more cost is shown, so that the start cancels. Needs valgrind and addr2line (binutils).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from shutil import which

from bench import build_example, spec

PARTS = {
    "endpoints (crates/tcp)": ("tcp/",),
    "link and law (sim/link, crates/aqm)": ("sim/src/link", "aqm/"),
    "event queue (sim/engine/wheel)": ("sim/src/engine/wheel", "sim/src/engine/prefetch"),
    "timers (sim/engine)": ("sim/src/engine/timers",),
    "users and what they ask (crates/workload, sim/engine)": (
        "workload/",
        "sim/src/engine/applications",
        "sim/src/engine/sources",
    ),
    "random streams (crates/units)": ("units/src/stream",),
    "recorders (sim/record, sim/engine/readings)": (
        "sim/src/record",
        "sim/src/summary",
        "sim/src/engine/readings",
        "sim/src/engine/recorder",
        "sim/src/engine/observer",
    ),
    "main loop, connections, packets (sim, crates/units)": ("sim/", "units/"),
}
"""Each part's files, by the start of their path below crates/; the first that fits counts."""

REST = "start-up, system, unknown"


def costs(profile: Path, binary: Path) -> Counter[int]:
    """Read a callgrind profile made with --dump-instr=yes: instructions by address in the binary, 0 for elsewhere."""
    cost: Counter[int] = Counter()
    names: dict[str, str] = {}
    address, part, is_call = 0, "", False
    for line in profile.read_text().splitlines():
        if match := re.match(r"(c?)ob=\((\d+)\)(?: (.*))?$", line):
            called, number, name = match.groups()
            names[number] = name or names[number]
            part = part if called else names[number]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1] in ("0", "+", "-", "*"):
            # Addresses are absolute, or relative to the line before; a call's own line is what its callee cost.
            position, _, count = line.split()
            if position.startswith("0x"):
                address = int(position, 16)
            elif position != "*":
                address += int(position, 0)
            if not is_call:
                cost[address if part == str(binary) else 0] += int(count)
            is_call = False
    return cost


def part_of(files: list[str]) -> str:
    """Say which part the innermost of our own files among these, the innermost first, belongs to."""
    source = next((file.split("/crates/")[1] for file in files if "/crates/" in file), None)
    if source is None:
        return REST
    return next((part for part, starts in PARTS.items() if source.startswith(starts)), REST)


def parts_of(addresses: list[int], binary: Path) -> dict[int, str]:
    """Say which part each address belongs to."""
    command = ["addr2line", "--addresses", "--inlines", "--exe", str(binary)]
    addresses_text = "\n".join(map(hex, addresses))
    answer = subprocess.run(command, input=addresses_text, capture_output=True, text=True, check=True).stdout
    frames: dict[int, list[str]] = {}
    for line in answer.splitlines():
        if line.startswith("0x"):
            files = frames.setdefault(int(line, 16), [])
        else:
            files.append(line.rpartition(":")[0])
    return {address: part_of(files) for address, files in frames.items()}


def profile(binary: Path, text: str, directory: Path) -> tuple[Counter[int], int]:
    """Run a spec under callgrind: instructions by address, and bottleneck packets."""
    (directory / "spec.json").write_text(text)
    out = directory / "profile"
    tool = ["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={out}"]
    process = subprocess.run(
        [*tool, str(binary), str(directory / "spec.json")], capture_output=True, text=True, check=True
    )
    return costs(out, binary), json.loads(process.stdout)["bottleneck_packets"]


def per_packet(law: str, stack: str) -> Counter[str]:
    """Count instructions per packet by part."""
    binary = build_example("aqmlab-sim", "run")
    with tempfile.TemporaryDirectory() as name:
        texts = [spec(law, stack=stack, warmup_s=5, measured_s=seconds) for seconds in (5, 15)]
        (short, short_count), (long, long_count) = (profile(binary, text, Path(name)) for text in texts)
    long.subtract(short)
    parts = parts_of([address for address in long if address], binary)
    by_part: Counter[str] = Counter()
    for address, count in long.items():
        by_part[parts.get(address, REST)] += count / (long_count - short_count)  # type: ignore[assignment]
    return by_part


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--law", default="PI 24", help="as bench.py names it")
    parser.add_argument("--stack", default="unc-testbed", help="the hosts' TCP profile")
    arguments = parser.parse_args()
    for tool in ("valgrind", "addr2line"):
        if not which(tool):
            sys.exit(f"parts: needs {tool}")
    by_part = per_packet(arguments.law, arguments.stack)
    total = sum(by_part.values())
    print(f"| {arguments.law}, {arguments.stack} | instructions/packet | share |\n|---|--:|--:|")
    for part in (*PARTS, REST):
        print(f"| {part} | {by_part[part]:.1f} | {100 * by_part[part] / total:.1f} % |")
    print(f"| all | {total:.1f} | 100 % |")


if __name__ == "__main__":
    main()
