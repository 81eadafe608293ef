"""Write the page and its record: ``make conversations``. It takes a minute, and needs the kernel (``make kernel``)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.cells import kernel
from aqmlab.conversations import Comparison, compare_worlds
from aqmlab.conversations.table import describe
from conversations.experiments import TALKS, Talk
from markdown import table

_TEMPLATE = Path(__file__).with_name("page.md")

TOLERANCE_NS = 1_000_000
"""Times this close are equal: timers of the kernel expire at whole milliseconds of its own clock."""

_RECORD = "tcp-conversations.json"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Record:
    """The conversations with one kernel."""

    linux: str
    """The series of the kernel, such as ``6.12``: another one may speak otherwise."""
    rows: list[Row]


def measure(talk: Talk) -> Row:
    """Return the comparison of one conversation as a row of the record."""
    (comparison,) = compare_worlds(talk.experiment(), tolerance_ns=TOLERANCE_NS)
    return {"conversation": talk.name, **_row(comparison)}


def _row(comparison: Comparison) -> Row:
    found = comparison.differences
    return {
        "simulated_segments": found.totals[0],
        "kernel_segments": found.totals[1],
        "compared": found.compared,
        "content": describe(found.content),
        "time": describe(found.time),
        "window": describe(found.window),
    }


def page(record: Record) -> str:
    """Return the page of a record."""
    rows = record.rows
    shows = {talk.name: talk.shows for talk in TALKS}
    equal = [row for row in rows if row["content"] == "none"]
    written = table(
        ("conversation", "shows", "segments", "equal", "content", "time"),
        (_cells(row, shows[row["conversation"]]) for row in rows),
    )
    summary = (
        f"The kernel is Linux {record.linux}.\n"
        f"{len(equal)} of {len(rows)} conversations have the same segments to their end;"
        f" {sum(row['time'] == 'none' for row in equal)} of them also at the same times.\n"
    )
    return _TEMPLATE.read_text(encoding="utf-8").replace("<!-- table -->\n", f"{summary}\n{written}")


def _cells(row: Row, shows: str) -> tuple[str, ...]:
    segments = f"{row['kernel_segments']:,}"
    return (f"`{row['conversation']}`", shows, segments, f"{row['compared']:,}", row["content"], row["time"])


def read_record(directory: Path) -> Record:
    """Return the record in a directory of pages."""
    stored = json.loads((directory / _RECORD).read_text(encoding="utf-8"))
    return Record(linux=stored["linux"], rows=stored["conversations"])


def _written(record: Record) -> str:
    """Return a record as JSON with a line for each conversation."""
    rows = ",\n".join(f"    {json.dumps(row)}" for row in record.rows)
    return f'{{\n  "linux": {json.dumps(record.linux)},\n  "conversations": [\n{rows}\n  ]\n}}\n'


def main() -> None:
    """Run the conversations and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="the directory of the page")
    parser.add_argument("--only", metavar="NAME", help="print one conversation instead")
    arguments = parser.parse_args()
    if arguments.only:
        print(*(measure(talk) for talk in TALKS if arguments.only in talk.name), sep="\n")
        return
    record = Record(linux=kernel.series(), rows=[measure(talk) for talk in TALKS])
    (arguments.directory / _RECORD).write_text(_written(record), encoding="utf-8")
    (arguments.directory / "tcp-conversations.md").write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
