"""Write the page and its record: ``make judges``. It takes half an hour, and needs the kernel and the programs."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab.cells import kernel
from judges.cases import PageCase, page_cases
from judges.videos import MEASURES, VideoCase, video_cases
from markdown import table

_TEMPLATE = Path(__file__).with_name("page.md")

_RECORD = "judges.json"

Row = Mapping[str, Any]


def all_cases() -> Iterator[PageCase | VideoCase]:
    """Yield all cases in the order of the page."""
    yield from page_cases()
    yield from video_cases()


def measure(case: PageCase | VideoCase) -> Row:
    """Return the comparison of a case as a row of the record."""
    compared = {name: dataclasses.asdict(comparison) for name, comparison in case.compare().items()}
    return {"case": dataclasses.asdict(case), "linux": kernel.series(), **compared}


def read_record(directory: Path) -> list[Row]:
    """Return the rows of the record in a directory of pages."""
    rows: list[Row] = json.loads((directory / _RECORD).read_text(encoding="utf-8"))
    return rows


def page(rows: Iterable[Row]) -> str:
    """Return the page of a record."""
    text = _TEMPLATE.read_text(encoding="utf-8")
    rows = list(rows)
    for protocol, measures in (("HTTP/2", ("page load", "first render", "html")), ("HTTP/3", ("page load", "html"))):
        shown = [row for row in rows if row["case"].get("protocol") == protocol]
        text = text.replace(f"<!-- {protocol} -->\n", _page_table(shown, measures))
    return text.replace("<!-- video -->\n", _video_table(row for row in rows if "seconds" in row["case"]))


_LABELS = {"page load": "deviation, %", "first render": "first render, %", "html": "document, %"}


def _page_table(rows: Iterable[Row], measures: Sequence[str]) -> str:
    deviations = (_LABELS[name] for name in measures)
    head = ("page", "link", "page load: program, ms", "model, ms", *deviations)
    return table(head, (_page_cells(row, measures) for row in rows))


def _page_cells(row: Row, measures: Sequence[str]) -> tuple[str, ...]:
    load = row["page load"]
    deviations = (_signed(row[name]["deviation"]) for name in measures)
    return (row["case"]["page"], _link(row), _whole(load["program"]), _whole(load["model"]), *deviations)


def _video_table(rows: Iterable[Row]) -> str:
    names = ("bitrate, Mbit/s", "switches, 1/min", "stalled, %", "start-up, s")
    head = ("segment, buffer", "link", *(f"{name}: {world}" for name in names for world in ("player", "model")))
    return table(head, (_video_cells(row) for row in rows))


def _video_cells(row: Row) -> tuple[str, ...]:
    video = row["case"]
    numbers = (_decimals(row[name][world]) for name in MEASURES for world in _WORLDS)
    return (f"{video['segment_s']} s, {video['buffer_s']} s", _link(row), *numbers)


_WORLDS = ("program", "model")


def _link(row: Row) -> str:
    link = row["case"]["link"]
    return f"`{link['queue']}`, {link['rtt_ms']} ms{', download' if link['download'] else ''}"


def _decimals(estimate: Row) -> str:
    return f"{estimate['mean']:.2f}" + ("" if estimate["half"] is None else f" ± {estimate['half']:.2f}")


def _whole(estimate: Row) -> str:
    return f"{estimate['mean']:,.0f}" + ("" if estimate["half"] is None else f" ± {estimate['half']:,.0f}")


def _signed(estimate: Row) -> str:
    return f"{estimate['mean']:+.1f}" + ("" if estimate["half"] is None else f" ± {estimate['half']:.1f}")


def _written(rows: Iterable[Row]) -> str:
    """Return a record as JSON with a line for each case."""
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def main() -> None:
    """Run the cases and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="the directory of the page")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="measure the cases that contain this text, keep others"
    )
    arguments = parser.parse_args()
    kept = {json.dumps(row["case"]): row for row in read_record(arguments.directory)} if arguments.only else {}
    rows = []
    for case in all_cases():
        name = json.dumps(dataclasses.asdict(case))
        is_kept = arguments.only and arguments.only not in name
        rows.append(kept[name] if is_kept else measure(case))
    (arguments.directory / _RECORD).write_text(_written(rows), encoding="utf-8")
    (arguments.directory / "judges.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
