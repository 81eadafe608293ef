"""Reports of studies: decided claims, tables and figures, from results or from a record.

A record is the JSON of a report, committed with the study's page: all numbers, and the texts that follow from
results. The pages can be written from it without the results.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from aqmlab._core import SpecError, results_number
from aqmlab.store.result import Result
from aqmlab.studies import find
from aqmlab.studies.kit.claims.review import Conclusion
from aqmlab.studies.kit.decisions import Decision, decide, decisions
from aqmlab.studies.kit.study import (
    Figure,
    Length,
    ProgressCallback,
    Study,
    StudyResults,
    Table,
    finite,
    no_progress,
)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Origin of a report's cells."""

    results: int
    """The results number."""
    engines: Sequence[str]
    """Engines that made the cells: a version with the hash of its sources, and the commit if it is known."""
    cost: Mapping[str, float]
    """Seconds simulated and of processor time over all distinct cells, and their number."""

    @classmethod
    def from_results(cls, results: Collection[Result]) -> Provenance:
        """Read the metadata of results, each of another cell."""
        metadata = [each.metadata for each in results]
        names = {f"{it['engine']}, commit {it['commit']}" if it["commit"] else str(it["engine"]) for it in metadata}
        sums = {name: sum(it[name] for it in metadata) for name in ("simulated_s", "cpu_s")}
        return cls(results=results_number(), engines=sorted(names), cost={**sums, "cells": len(metadata)})


@dataclass(frozen=True, kw_only=True)
class Report:
    """A study with its decided claims, tables and figures."""

    study: Study
    length: Length
    decisions: Sequence[Decision]
    tables: Sequence[Table]
    figures: Sequence[Figure]
    results: StudyResults = field(default_factory=dict)
    """Empty in a report that is read from a record."""
    recorded: Provenance | None = None
    """The origin of the cells in a report that is read from a record."""

    @classmethod
    def from_results(
        cls, study: Study, length: Length, results: StudyResults, progress: ProgressCallback = no_progress
    ) -> Report:
        """Decide the claims and make tables and figures, which takes minutes with many results."""
        progress("claims")
        decided = decide(study, results)
        progress("tables")
        tables = study.tables(results)
        progress("figures")
        figures = study.figures(results)
        return cls(study=study, length=length, decisions=decided, tables=tables, figures=figures, results=results)

    @property
    def command(self) -> str:
        """The command that makes it."""
        return self.study.command(self.length)

    @cached_property
    def distinct(self) -> dict[str, Result]:
        """Results by the key of their cell, because runs may share cells."""
        return {result.cell.key: result for each in self.results.values() for result in each}

    @cached_property
    def provenance(self) -> Provenance:
        """The origin of the cells."""
        return self.recorded or Provenance.from_results(self.distinct.values())

    def record(self) -> dict[str, Any]:
        """Return all numbers, and the texts that follow from results, as plain values."""
        return {
            "study": self.study.name,
            **({"part": self.study.part} if self.study.part else {}),
            "length": asdict(self.length),
            **asdict(self.provenance),
            "claims": [decision.outcomes() for decision in self.decisions],
            "tables": [
                {**asdict(table), "rows": [list(map(finite, row)) for row in table.rows]} for table in self.tables
            ],
            "figures": [{"name": figure.name, "caption": figure.caption} for figure in self.figures],
        }


def write_record(report: Report, file: Path) -> None:
    """Write the record of a report, with a line for each claim and each row of a table."""
    file.write_text(_json(report.record()) + "\n", encoding="utf-8")


def read_record(file: Path) -> Report:
    """Read the report of a study from its record.

    Raises
    ------
    SpecError
        When the study has claims that the record lacks.
    """
    record = json.loads(file.read_text(encoding="utf-8"))
    study = find(record["study"])
    if "part" in record:
        study = study.only(record["part"])
    entries = {entry["id"]: entry for entry in record["claims"]}
    if lacking := [claim.id for claim in study.reviewed_claims() if claim.id not in entries]:
        raise SpecError(
            f"{file}: lacks the claims {', '.join(lacking)}; `{study.command(study.lengths['default'])}` writes it"
        )
    return Report(
        study=study,
        length=Length(**record["length"]),
        decisions=decisions(study, lambda claim: Conclusion.from_record(entries[claim.id])),
        tables=[Table(**{**table, "columns": tuple(table["columns"])}) for table in record["tables"]],
        figures=[Figure(**figure) for figure in record["figures"]],
        recorded=Provenance(results=record["results"], engines=record["engines"], cost=record["cost"]),
    )


def _json(value: Any, indent: str = "") -> str:
    """Return a value as JSON, with a line for each item of a list of lists or objects."""
    inner = indent + " "
    if isinstance(value, list) and any(isinstance(each, (list, dict)) for each in value):
        return "[\n" + ",\n".join(inner + _json(each, inner) for each in value) + f"\n{indent}]"
    if isinstance(value, dict) and any("\n" in _json(each) for each in value.values()):
        lines = (f"{inner}{json.dumps(name)}: {_json(each, inner)}" for name, each in value.items())
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
