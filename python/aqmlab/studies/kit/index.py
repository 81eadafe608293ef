"""The counts of all studies' claims, in the index of the pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab.studies.kit.claims.registered import Registration
from aqmlab.studies.kit.findings import Outcome

BEGIN, END = "<!-- counts -->", "<!-- /counts -->"
"""Marks around the counts in the index."""

Claims = Mapping[str, Sequence[Mapping[str, Any]]]
"""The claims' entries in the records, by study."""


def readings(registration: Registration) -> str:
    """Return a sentence on when the claims were written, and their predicates."""
    dictionary = "[dictionary](README.md#two-readings)"
    if not registration.claims:
        return f"The claims are in the words of the {dictionary} for all studies."
    if registration.in_dictionary:
        return (
            f"The claims were registered before any result was seen, in the words of the {dictionary} for all"
            " studies. The second reading decides the same predicates from these results."
        )
    return (
        "The first reading was registered before any result was seen. The words of the second, one"
        f" {dictionary} for all studies, were fixed after the first results had been seen."
    )


def recorded_claims(directory: Path) -> Claims:
    """Read the claims of the records in the directory of the pages."""
    records = (json.loads(file.read_text(encoding="utf-8")) for file in sorted(directory.glob("*.json")))
    return {record["study"]: record["claims"] for record in records}


def count(directory: Path) -> None:
    """Count the claims of all records in ``README.md``, if that has the marks."""
    page = directory / "README.md"
    if page.is_file() and BEGIN in (words := page.read_text(encoding="utf-8")):
        before, _, rest = words.partition(BEGIN)
        after = rest.partition(END)[2]
        page.write_text(f"{before}{BEGIN}\n{counts(recorded_claims(directory))}\n{END}{after}", encoding="utf-8")


def counts(claims: Claims) -> str:
    """Return the counts of each study and of all as a Markdown table."""
    first, second = ("hold", "fail", "undecided"), ("hold", "fail", "undecided", "inconsistent")
    heads = ["study", "first reading", *first, "second reading", *second, "parts held"]
    rows = [_row(f"[{name}]({name}.md)", entries) for name, entries in claims.items()]
    rows.append(_row("all", [entry for entries in claims.values() for entry in entries]))
    return "\n".join([f"| {' | '.join(heads)} |", "|---|" + "--:|" * (len(heads) - 1), *rows])


def _row(name: str, entries: Sequence[Mapping[str, Any]]) -> str:
    first = [entry["first"] for entry in entries if entry["first"]]
    second = [entry["second"] for entry in entries]
    held, parts = (sum(entry[key] for entry in entries) for key in ("held", "parts"))
    cells = [len(first), *map(first.count, list(Outcome)[:3]), len(second), *map(second.count, Outcome)]
    return "| " + " | ".join(map(str, [name, *cells, f"{held} of {parts}"])) + " |"
