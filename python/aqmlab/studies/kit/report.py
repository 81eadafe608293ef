"""Reports of studies: decided claims, tables, figures, and the cost of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aqmlab._core import results_number
from aqmlab.store.result import Result
from aqmlab.studies.kit.decisions import Decision, decide
from aqmlab.studies.kit.study import Figure, Length, ProgressCallback, Study, StudyResults, Table, no_progress


@dataclass(frozen=True, kw_only=True)
class Report:
    """A study with its decided claims, tables and figures."""

    study: Study
    length: Length
    results: StudyResults
    decisions: Sequence[Decision]
    tables: Sequence[Table]
    figures: Sequence[Figure]

    @classmethod
    def of(
        cls, study: Study, length: Length, results: StudyResults, progress: ProgressCallback = no_progress
    ) -> Report:
        """Decide the claims and make tables and figures, which takes minutes with many results."""
        progress("claims")
        decisions = decide(study, results)
        progress("tables")
        tables = study.tables(results)
        progress("figures")
        figures = study.figures(results)
        return cls(study=study, length=length, results=results, decisions=decisions, tables=tables, figures=figures)

    @property
    def command(self) -> str:
        """The command that makes it."""
        return self.study.command(self.length)

    @property
    def cost(self) -> dict[str, float]:
        """Seconds simulated and of processor time over all distinct cells, and their number."""
        distinct = self.distinct.values()
        return {name: sum(each.metadata[name] for each in distinct) for name in ("simulated_s", "cpu_s")} | {
            "cells": len(distinct)
        }

    @property
    def engines(self) -> list[str]:
        """Engines that made the cells: a version with the hash of its sources, and the commit if it is known."""
        made_by = {(each.metadata["engine"], each.metadata["commit"]) for each in self.distinct.values()}
        return sorted(f"{engine}, commit {commit}" if commit else str(engine) for engine, commit in made_by)

    @cached_property
    def distinct(self) -> dict[str, Result]:
        """Results by the key of their cell, because runs may share cells."""
        return {result.cell.key: result for results in self.results.values() for result in results}

    def record(self) -> dict[str, Any]:
        """Return all but the figures as one object, for ``--json``."""
        length = self.length
        return {
            "study": self.study.name,
            "length": {
                "name": length.name,
                "warmup": length.warmup,
                "duration": length.duration,
                "seeds": length.seeds,
                "first_seed": length.first_seed,
            },
            "results": results_number(),
            "engines": self.engines,
            "cost": self.cost,
            "tables": [
                {
                    "name": table.name,
                    "title": table.title,
                    "columns": list(table.columns),
                    "rows": [list(row) for row in table.rows],
                }
                for table in self.tables
            ],
            "claims": [decision.record(self.study.name) for decision in self.decisions],
        }
