"""Write the page and its record: ``make laws``. It takes some minutes, and needs the kernel (``make kernel``)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab.cells import kernel
from laws.comparisons import COMPARISONS, Comparison, possible
from laws.oracle import Row, compare
from markdown import table

_TEMPLATE = Path(__file__).with_name("page.md")

_FATES = ("departed", "marked", "refused", "evicted", "dropped_at_dequeue")

_HEAD = ("comparison", "in `tc`", "here", "packets", "departed", "marked", "refused", "evicted", "dropped at dequeue")


def page(rows: Sequence[Row]) -> str:
    """Return the page of a record."""
    comparisons = {comparison.name: comparison for comparison in COMPARISONS}
    written = table((*_HEAD, "differences"), (_cells(row, comparisons[row["comparison"]]) for row in rows))
    packets, differences = (sum(row[count] for row in rows) for count in ("packets", "differences"))
    kernels = dict.fromkeys(row["kernel"].partition("-")[0] for row in rows)
    summary = (
        f"Linux {' and '.join(kernels)}, {len(rows)} comparisons of {rows[0]['patterns']} traffic"
        f" patterns each: {packets:,} fates, of which {differences:,} differ.\n"
    )
    return _TEMPLATE.read_text(encoding="utf-8").replace("<!-- table -->\n", f"{summary}\n{written}")


def _cells(row: Row, comparison: Comparison) -> tuple[str, ...]:
    given = ",".join(f"{name}={value}" for name, value in comparison.parameters.items())
    here = f"`{':'.join(filter(None, (comparison.law, given)))}`" + ("" if comparison.ecn else " without ECN")
    if comparison.loss is not None:
        here += f" after `loss = {_toml(comparison.loss)}`"
    counts = (row[count] for count in ("packets", *_FATES, "differences"))
    return (row["comparison"], f"`{comparison.tc}`", here, *(f"{count:,}" for count in counts))


def _toml(value: float | Mapping[str, Any]) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value)
    return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"


def read_record(directory: Path) -> list[Row]:
    """Return the record in a directory of pages."""
    rows: list[Row] = json.loads((directory / "kernel-laws.json").read_text(encoding="utf-8"))
    return rows


def _record(comparison: Comparison) -> dict[str, Any]:
    row = dict(compare(comparison))
    if first := row.pop("first"):
        print(f"{comparison.name}: {row['differences']} differences, the first: {first}")
    return {"comparison": comparison.name, **row}


def main() -> None:
    """Run the comparisons and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="the directory of the page")
    parser.add_argument("--only", metavar="NAME", help="print the comparisons with this in their names instead")
    arguments = parser.parse_args()
    if arguments.only:
        print(*(_record(comparison) for comparison in COMPARISONS if arguments.only in comparison.name), sep="\n")
        return
    stored = {row["comparison"]: row for row in read_record(arguments.directory)}
    # Rows of disciplines that this kernel lacks stay as a newer one has found them.
    stored |= {comparison.name: _record(comparison) for comparison in possible(kernel.release())}
    rows = [stored[comparison.name] for comparison in COMPARISONS]
    record = "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n]\n"
    (arguments.directory / "kernel-laws.json").write_text(record, encoding="utf-8")
    (arguments.directory / "kernel-laws.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
