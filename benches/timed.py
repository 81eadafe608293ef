"""aqmlab's cost of a run, in the output format of the peers' drivers: a line ``mark`` for each spec.

``python timed.py SECONDS SPEC SECONDS SPEC``: each spec is run to its end from its text on, so that reading a trace
counts too; the difference of the two is what the simulated time between their ends costs.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from pathlib import Path
from typing import Any

from alone import load_engine

TAKE_EVERY_S = 60


def run(core: Any, spec: str) -> tuple[float, int]:
    """Return the user CPU time of a run and the packets that arrived at the bottleneck."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    simulation = core.Simulation(core.Resolved(spec), 1)
    while simulation.now < simulation.end:
        simulation.advance(TAKE_EVERY_S)
        for table in ("queue", "link", "exchanges"):
            simulation.take(table)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    return after - before, json.loads(simulation.summary())["bottleneck_packets"]


def peak_kib() -> int:
    """Return the peak memory of this process; getrusage's began with its parent's."""
    line = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert line is not None, "Linux tells a process's peak memory"
    return int(line[1])


def main() -> None:
    """Run the specs in turn."""
    core = load_engine()
    for seconds, file in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        try:
            user_s, packets = run(core, Path(file).read_text())
        except (OSError, core.SpecError) as error:
            sys.exit(f"timed: {error}")
        print(f"mark {seconds} user_s {user_s:.6f} packets {packets} peak_kib {peak_kib()}", flush=True)


if __name__ == "__main__":
    main()
