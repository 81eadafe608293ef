"""The claims of all studies counted: ``claims.json`` beside the pages, and the counts in the index that lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab.studies.kit.findings import Outcome
from aqmlab.studies.kit.report import Report

TWO_READINGS = (
    "The first reading was registered before any result was looked at. The words of the second, one"
    " [dictionary](README.md#two-readings) for all studies, were fixed after the first results had been seen."
)

BEGIN, END = "<!-- counts -->", "<!-- /counts -->"
"""Between them stands in the index what is written here."""


def count(report: Report, directory: Path) -> None:
    """Enter a study's outcomes in ``claims.json``, and count them in ``README.md`` where that has the marks."""
    file = directory / "claims.json"
    known: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    name = report.study.name
    others = [entry for entry in known if entry["study"] != name]
    entries = [*others, *(decision.outcomes(name) for decision in report.decisions)]
    entries.sort(key=lambda entry: str(entry["study"]))
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in entries)
    file.write_text(f"[\n{lines}\n]\n" if entries else "[]\n", encoding="utf-8")
    page = directory / "README.md"
    if page.is_file() and BEGIN in (words := page.read_text(encoding="utf-8")):
        before, _, rest = words.partition(BEGIN)
        after = rest.partition(END)[2]
        page.write_text(f"{before}{BEGIN}\n{counts(entries)}\n{END}{after}", encoding="utf-8")


def counts(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the counts of each study and of all as a Markdown table."""
    studies = dict.fromkeys(entry["study"] for entry in entries)
    rows = [_row(f"[{name}]({name}.md)", [each for each in entries if each["study"] == name]) for name in studies]
    first, second = ("hold", "fail", "undecided"), ("hold", "fail", "undecided", "inconsistent")
    heads = ["study", "first reading", *first, "second reading", *second, "parts held"]
    return "\n".join(
        [f"| {' | '.join(heads)} |", "|---|" + "--:|" * (len(heads) - 1), *rows, _row("all", entries)],
    )


def _row(name: str, entries: Sequence[Mapping[str, Any]]) -> str:
    firsts, seconds = ([entry[which] for entry in entries if entry[which]] for which in ("first", "second"))
    cells: list[object] = [name, len(firsts), *(firsts.count(each) for each in list(Outcome)[:3])]
    cells += [len(seconds), *map(seconds.count, Outcome)] if seconds else [""] * 5
    held, parts = (sum(entry[which] or 0 for entry in entries) for which in ("held", "parts"))
    return "| " + " | ".join(map(str, [*cells, f"{held} of {parts}" if seconds else ""])) + " |"
