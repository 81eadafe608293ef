"""Costs of each queue discipline in time and state: the numbers of crates/aqm/examples/cost.rs as a page.

`make cost` writes docs/reference/aqm/cost.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from bench import build_example, counted, machine


def instructions_per_packet(binary: Path, name: str) -> float:
    """Count instructions: what more packets cost, so that the start cancels."""
    short, long = 20_000, 120_000
    counts = [counted([str(binary), name, str(packets)])[0] for packets in (short, long)]
    return (counts[1] - counts[0]) / (long - short)


def row(cost: dict[str, Any], instructions: float | None) -> str:
    """Write one discipline's numbers as a row of the table."""
    name = cost["name"]
    count = "no valgrind" if instructions is None else f"{instructions:.0f}"
    return (
        f"| [{name}]({name}.md) | {count} | {cost['ns_per_packet']:.0f} | {cost['bytes_empty']:,} B"
        f" | {cost['bytes_per_packet']:.0f} B | {cost['bytes_per_flow']:.0f} B | {cost['packets']:,} |"
    )


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, metavar="PAGE.md", help="where the table goes")
    page: Path = parser.parse_args().page
    binary = build_example("aqmlab-aqm", "cost", "--features", "serde")
    costs = json.loads(subprocess.run([binary], stdout=subprocess.PIPE, text=True, check=True).stdout)
    counts = shutil.which("valgrind") is not None
    rows = [row(cost, instructions_per_packet(binary, cost["name"]) if counts else None) for cost in costs]
    environment = ", ".join(value for name, value in machine().items() if name in ("cpu", "system", "rustc"))
    head = Path(__file__).with_name("cost.md").read_text(encoding="utf-8").format(machine=environment)
    page.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
