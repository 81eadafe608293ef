"""Is the engine as fast as it was? Instructions per packet against those on record in benches/instructions.json.

`make bench-check` fails when one has grown by more than 3 %. A change that slows the engine on purpose writes the new
record in the same commit: `make bench-record`. The trace is that of benches/peers, where modules have to be looked for.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

import arrivals
import scenario
from bench import instructions_per_packet, spec

RECORD = Path(__file__).with_name("instructions.json")

ALLOWED_PERCENT = 3.0

LAWS = ["drop-tail 240", "ARED 12/36", "PI 24", "REM 24", "avq", "codel", "pie", "fq_codel", "dualpi2"]
"""The laws of the papers, and one or two of each kind that decides when a packet leaves."""

TRACE_S = 20
"""As long as the longest of the runs that are counted."""


@cache
def trace() -> str:
    """Draw the transfers of `benches/peers` at 90 % load."""
    return arrivals.to_text(arrivals.generate(scenario.PER_SECOND[90], TRACE_S, seed=1))


def replayed(*, warmup_s: int, measured_s: int) -> str:
    """Describe the replay of the trace behind drop-tail; it is as long as the run, since reading it counts."""
    end = warmup_s + measured_s
    case = next(case for case in scenario.cases() if case.name == "web 90 droptail")
    window = scenario.Window(warm_s=warmup_s, begun_until_s=end, stop_s=end)
    return json.dumps(scenario.experiment(case, window, arrivals.until(trace(), end)))


PAGE_USERS = 110
"""Users of pages on each side: 88 % load."""


def pages(*, warmup_s: int, measured_s: int) -> str:
    """Describe users of today, some of whose pages come over HTTP/3, on hosts of today."""
    parts = json.loads(spec("drop-tail 240", stack="linux-6", warmup_s=warmup_s, measured_s=measured_s))
    return json.dumps(parts | {"users": {"per_side": PAGE_USERS, "workload": "web-2024"}})


CASES: dict[str, Callable[..., str]] = {
    **{law: partial(spec, law) for law in LAWS},
    "hosts linux-6": partial(spec, "drop-tail 240", stack="linux-6"),
    "web-2024, linux-6": pages,
    "trace replayed": replayed,
}


def main() -> None:
    """Count, compare, and say what grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write what is counted as the new record")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        print("bench-check: skipped: needs valgrind")
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(instructions_per_packet, CASES.values())
        counts_by_case = {case: round(count, 1) for case, count in zip(CASES, counts, strict=True)}
    if arguments.record:
        RECORD.write_text(json.dumps(counts_by_case, indent=2) + "\n")
    record = json.loads(RECORD.read_text())
    grown = []
    print(f"{'instructions/packet':<20} {'on record':>9} {'now':>9} {'change':>8}")
    for case, count in counts_by_case.items():
        change = 100 * (count / record[case] - 1)
        print(f"{case:<20} {record[case]:>9.1f} {count:>9.1f} {change:>+7.1f}%")
        if change > ALLOWED_PERCENT:
            grown.append(case)
    if grown:
        sys.exit(
            f"bench-check: more than {ALLOWED_PERCENT:g} % dearer: {', '.join(grown)}; "
            "make it cheaper, or record it: make bench-record"
        )


if __name__ == "__main__":
    main()
