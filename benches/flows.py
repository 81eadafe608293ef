"""Cost of the table of flows: instructions of a simulated second of 20 CUBIC flows, without and with the table.

`python benches/flows.py [MBPS ...]` prints a table in Markdown for docs/performance.md: the engine alone, the table
taken as Arrow columns, and written as a Parquet file as a run does. The start of the process cancels.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

from alone import load_engine
from bench import counted

SHORT_S, LONG_S = 5, 15

STAGES = ("off", "recorded", "taken", "written")


def spec(mbps: int, duration_s: int, flows: str | None) -> str:
    """Describe 20 long flows over a buffer of one bandwidth-delay product."""
    parts: dict[str, Any] = {
        "link": {"rate": f"{mbps} Mbit/s"},
        "queue": {"droptail": {"limit": 4 * mbps}},
        "tcp": {"congestion": "cubic"},
        "users": {"per_side": 0},
        "sources": [{"bulk": {"flows": 20, "rtt": {"fixed": "40 ms"}, "side": 0}}],
        "protocol": {"warmup": "2 s", "duration": f"{duration_s} s"},
    }
    return json.dumps({**parts, **({"record": {"flows": flows}} if flows else {})})


def run(mbps: int, duration_s: int, flows: str, stage: str) -> None:
    """Run one stage and those before it; print the number of rows."""
    import pyarrow as pa

    from aqmlab.running.run import parquet_writer

    core = load_engine()
    simulation = core.Simulation(core.Resolved(spec(mbps, duration_s, None if stage == "off" else flows)), 1)
    simulation.advance(simulation.end)
    if stage not in ("taken", "written"):
        return print(0)
    rows = pa.record_batch(simulation.take("flows"))
    if stage == "written":
        with parquet_writer(io.BytesIO(), rows.schema) as writer:
            writer.write_batch(rows)
    print(rows.num_rows)


def per_second(mbps: int, flows: str, stage: str) -> tuple[float, float]:
    """Count the instructions and rows of a simulated second."""
    command = [sys.executable, str(Path(__file__)), "--run", str(mbps)]
    (short, some), (long, more) = (counted([*command, str(length), flows, stage]) for length in (SHORT_S, LONG_S))
    return (long - short) / (LONG_S - SHORT_S), (int(more) - int(some)) / (LONG_S - SHORT_S)


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--run"]:
        rate, length, every, stage = sys.argv[2:]
        return run(int(rate), int(length), every, stage)
    print("| rate | rows/s | without, millions/s | recorded, % | taken, % | written, % |\n|--:|--:|--:|--:|--:|--:|")
    for mbps in map(int, sys.argv[1:] or ("100", "1000")):
        for flows in ("10 ms", "changes"):
            (off, _), *stages = (per_second(mbps, flows, stage) for stage in STAGES)
            added = " | ".join(f"{100 * (count / off - 1):.1f}" for count, _ in stages)
            print(f"| {mbps:,} Mbit/s, {flows} | {stages[-1][1]:,.0f} | {off / 1e6:.1f} | {added} |", flush=True)


if __name__ == "__main__":
    main()
