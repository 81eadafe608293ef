"""Growth of the cost of a packet with the link's rate, and with the number of bottlenecks in a row.

`python benches/growth.py --figure docs/img/growth.svg` prints tables in Markdown for docs/performance.md and draws the
figure. Every case runs in a process of its own, one at a time; CPU time of the engine's thread alone.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench import REPEATS, USERS_PER_MBPS, _core, peak_mib, spec

RATES_MBPS = (10, 100, 1_000, 10_000)
"""With users in proportion: 1,866 to 1.9 million of them."""

BOTTLENECKS = (1, 2, 3, 4, 5, 6, 7)

WARMUP_S, MEASURED_S = 30, 20
"""The same at every rate: in the first seconds little is lost and a packet costs a third less."""

STEPS = 20
"""Between two takings of what was recorded."""


def at_rate(mbps: int) -> dict[str, float]:
    """Measure 98 % load behind PI at a rate."""
    measured = cost(spec("PI 24", mbps=mbps, warmup_s=WARMUP_S, measured_s=MEASURED_S))
    users = 2 * round(USERS_PER_MBPS * mbps)
    return {"mbps": mbps, "users": users, **measured, "bytes_per_user": measured["peak_mib"] * 2**20 / users}


def in_a_row(links: int) -> dict[str, float]:
    """Measure a chain of links of 100 Mbit/s behind PI, all of its users at its two ends."""
    described = json.loads(spec("PI 24", warmup_s=WARMUP_S, measured_s=MEASURED_S))
    described["link"] = [described["link"]] * links
    return {"links": links, **cost(json.dumps(described))}


def cost(text: str) -> dict[str, float]:
    """Run a spec: time per packet and queue that it arrives at after the warm-up, and peak memory."""
    without = peak_mib()
    simulation = _core.Simulation(_core.Resolved(text), 1)
    simulation.advance(WARMUP_S)
    before = json.loads(simulation.summary())["bottleneck_packets"]
    taken = 0.0
    # What waits to be written down is no part of what a user takes.
    for _ in range(STEPS):
        simulation.take("queue"), simulation.take("link")
        start = time.thread_time()
        simulation.advance(MEASURED_S / STEPS)
        taken += time.thread_time() - start
    summary = json.loads(simulation.summary())
    packets = summary["bottleneck_packets"] - before
    peak = peak_mib() - without
    return {"ns_per_packet": 1e9 * taken / packets, "peak_mib": peak, "loss_percent": summary["loss_percent"]}


def in_fresh_process(measure: Any, argument: int) -> dict[str, float]:
    """Measure in fresh processes; the fastest counts."""
    runs: list[dict[str, float]] = []
    for _ in range(REPEATS):
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
            runs.append(process.submit(measure, argument).result())
    return min(runs, key=lambda run: run["ns_per_packet"])


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw both as SVG, PNG or PDF")
    arguments = parser.parse_args()
    print("| rate | users | ns/packet | MiB | bytes/user | loss % |\n|--:|--:|--:|--:|--:|--:|")
    rates = []
    for mbps in RATES_MBPS:
        row = in_fresh_process(at_rate, mbps)
        rates.append(row)
        print(
            f"| {mbps:,} Mbit/s | {row['users']:,} | {row['ns_per_packet']:.0f} | {row['peak_mib']:,.0f}"
            f" | {row['bytes_per_user']:,.0f} | {row['loss_percent']:.2f} |",
            flush=True,
        )
    print("\n| bottlenecks in a row | ns/packet and queue |\n|--:|--:|")
    rows = []
    for links in BOTTLENECKS:
        row = in_fresh_process(in_a_row, links)
        rows.append(row)
        print(f"| {links} | {row['ns_per_packet']:.0f} |", flush=True)
    if arguments.figure:
        draw(rates, rows, arguments.figure)


def draw(rates: list[dict[str, float]], rows: list[dict[str, float]], file: Path) -> None:
    """Draw time per packet over the rate and over the number of bottlenecks."""
    from aqmlab.ui import canvas  # Not at the top: the measuring processes are to hold the engine alone.

    def panels(figure: Any) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        left.plot([row["mbps"] for row in rates], [row["ns_per_packet"] for row in rates], "o-", color="#0072B2")
        left.set(xscale="log", ylim=(0, None), xlabel="rate, Mbit/s", ylabel="ns a packet and queue")
        for row in rates:
            left.annotate(
                f"{row['users']:,.0f}\nusers", (row["mbps"], row["ns_per_packet"]), (0, -8),
                textcoords="offset points", fontsize=9, ha="center", va="top",
            )  # fmt: skip
        right.plot([row["links"] for row in rows], [row["ns_per_packet"] for row in rows], "o-", color="#D55E00")
        right.set(xlabel="bottlenecks of 100 Mbit/s in a row")
        left.margins(x=0.1)

    canvas.write(file, panels, size=(8, 3.6))


if __name__ == "__main__":
    main()
