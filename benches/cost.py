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

HEAD = """# Costs of the disciplines

Written by `make cost`: `crates/aqm/examples/cost.rs` on {machine}.

* **instructions**: for one packet that is enqueued, judged, and dequeued or dropped, through the trait that all queues
  share (`Qdisc`, a virtual call each time), timeouts included; counted by cachegrind, so that they are the same
  independent of the machine's load. 200,000 random packets of 256 flows arrive at a link of 100 Mbit/s, which they load
  by 90 % and 110 % by turns; the same packets for every discipline, with its default parameters. Driving the queue is
  in it as well: read what a discipline costs beyond drop-tail.
* **ns**: the time for the same, the fastest of 25. The load does not react, so that a queue may stand long; whether its
  memory is in the cache, and what else the machine does, is in this number.
* **state, empty**: bytes that the queue holds without a packet, parameters and counters included.
* **a packet**: bytes for each waiting packet, what it carries not included.
* **a flow**: bytes for each flow beyond the first that has a packet waiting.
* **measured with**: how many packets waited for the last two, a power of two, at which tables that double as they grow
  are full. In between they take up to twice as much.

| discipline | instructions | ns | state, empty | a packet | a flow | measured with |
|---|--:|--:|--:|--:|--:|--:|
"""


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
    page.write_text(HEAD.format(machine=environment) + "\n".join(rows) + "\n", encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
