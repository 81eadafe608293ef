"""Is the engine as fast as it was? Instructions per packet against those on record in benches/instructions.json.

`make bench-check` fails when one has grown by more than 3 %. Whoever makes the engine dearer on purpose writes the new
record in the same commit: `.venv/bin/python benches/check.py --record`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import instructions_per_packet

RECORD = Path(__file__).with_name("instructions.json")

ALLOWED_PERCENT = 3.0

CASES = ["drop-tail 240", "ARED 12/36", "PI 24", "REM 24", "avq", "codel", "pie", "fq_codel", "dualpi2"]
"""The laws of the papers, and one or two of each kind that decides when a packet leaves."""


def main() -> None:
    """Count, compare, and say what grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write what is counted as the new record")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        print("bench-check: skipped: needs valgrind")
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda law: instructions_per_packet(law, ecn=False), CASES)
        ours = {law: round(count, 1) for law, count in zip(CASES, counts, strict=True)}
    if arguments.record:
        RECORD.write_text(json.dumps(ours, indent=2) + "\n")
    record = json.loads(RECORD.read_text())
    grown = []
    print(f"{'98 % of 100 Mbit/s':<20} {'on record':>9} {'now':>9} {'change':>8}")
    for law, count in ours.items():
        change = 100 * (count / record[law] - 1)
        print(f"{law:<20} {record[law]:>9.1f} {count:>9.1f} {change:>+7.1f}%")
        if change > ALLOWED_PERCENT:
            grown.append(law)
    if grown:
        sys.exit(
            f"bench-check: more than {ALLOWED_PERCENT:g} % dearer: {', '.join(grown)}; "
            "make it cheaper, or record it: .venv/bin/python benches/check.py --record"
        )


if __name__ == "__main__":
    main()
