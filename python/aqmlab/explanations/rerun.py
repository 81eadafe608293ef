"""A cell that is run again, with its time explained step by step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from aqmlab._core import RecordBatch, Resolved, Simulation, SpecError, results_number
from aqmlab.controls import registry as controls
from aqmlab.disciplines.custom import registry
from aqmlab.explanations.parts import PAGES, REQUESTS, Wait
from aqmlab.running.run import Watch
from aqmlab.storage.errors import Damaged
from aqmlab.storage.integrity import METADATA, check_all, files_of, read_metadata
from aqmlab.ui.counts import pluralize

_STEP_S = 1.0
"""The simulated time between two callbacks, in seconds."""


@dataclass(frozen=True)
class Step:
    """The waits that ended in a step of the run: all of them, and resources and events of those with timelines."""

    waits: pl.DataFrame
    resources: pl.DataFrame
    timelines: pl.DataFrame


@dataclass(frozen=True)
class Rerun:
    """A cell that is run again."""

    directory: Path
    spec: Resolved
    seed: int
    wait: Wait
    """The kind of wait that is explained."""
    completed: int
    """The number of these waits."""
    sources: tuple[int, ...]
    """The numbers of the sources whose requests are explained, from 0; empty for waits of web users."""

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The resolved spec as tables."""
        tables: dict[str, Any] = json.loads(self.spec.json)
        return tables

    @property
    def queue(self) -> tuple[str, dict[str, Any]]:
        """The discipline and its parameters."""
        ((name, parameters),) = self.resolved["queue"].items()
        return name, parameters

    @property
    def title(self) -> str:
        """A description of the cell."""
        name, _ = self.queue
        where = "on each side" if self.resolved["users"].get("sides", 2) == 2 else "on one side"
        owner = f"{pluralize(self.resolved['users']['per_side'], 'user')} {where}"
        if self.sources:
            names = [_name(self.resolved["sources"][number]) for number in self.sources]
            owner = f"source {names[0]}" if len(names) == 1 else f"{len(names)} sources"
        return f"{name}, {owner}, seed {self.seed}"

    @classmethod
    def read(cls, directory: Path, source: str | None) -> Rerun:
        """Read the cell in a directory; refuse what cannot be run again, has other results or has nothing to explain.

        Parameters
        ----------
        directory
            The directory of the cell.
        source
            The name of the source whose requests are explained. Without one they are those of the web users, or of all
            sources if there are no web users.
        """
        if not any(os.path.lexists(directory / name) for name in (METADATA, "spec.json")):
            raise SpecError(
                f"cell: must be the directory of a cell, such as results/cells/0123456789abcdef, got {str(directory)!r}"
            )
        try:
            metadata = read_metadata(directory)
            check_all(directory, files_of(metadata))
        except Damaged as damage:
            raise SpecError(f"cell: {damage}; run its experiment again") from None
        if "live" in metadata:
            raise SpecError(f"cell: {directory} is a live run, which cannot be made again: simulate its experiment")
        if "kernel" in metadata:
            raise SpecError(f"cell: {directory} is a run in a kernel, which gives no reasons: simulate its experiment")
        results = metadata["results"]
        if results != results_number():
            raise SpecError(
                f"cell: {directory} has results of number {results} and this engine gives {results_number()}:"
                " run it again"
            )
        spec = Resolved((directory / "spec.json").read_text())
        summary = pl.read_parquet(directory / "summary.parquet").row(0, named=True)
        wait, completed = REQUESTS, summary["completed_requests"]
        sources: tuple[int, ...] = ()
        if source is not None or json.loads(spec.json)["users"]["per_side"] == 0:
            sources = _completing(summary["sources"], source)
            completed = sum(summary["sources"][number]["completed"] for number in sources)
        elif summary["pages"] is not None:
            wait, completed = PAGES, summary["pages"]["pages"]
        if completed == 0:
            raise SpecError(f"cell: no {wait.singular} was completed in {directory}: there is nothing to explain")
        return cls(directory, spec, metadata["seed"], wait, completed, sources)

    def steps(self, row: int | None, slowest: int | None, watch: Watch) -> Iterator[Step]:
        """Run the cell; yield the waits that each step explains, and what was requested of some of them."""
        try:
            makers = registry.makers(self.resolved), controls.makers(self.resolved)
        except ValueError as error:
            raise SpecError(str(error)) from None
        simulation = Simulation.explained(
            self.spec, self.seed, *makers, sources=list(self.sources), row=row, slowest=slowest or 0
        )
        while simulation.now < simulation.end:
            simulation.advance(_STEP_S)
            watch(simulation.now, simulation.end)
            for table in ("queue", "link", "exchanges", "losses", "flows"):
                # Discard tables that the cell has stored already.
                simulation.take(table)
            waits = _frame(simulation.take(self.wait.table))
            if not waits.is_empty():
                timelines = _without_values(_frame(simulation.take("timelines")))
                yield Step(waits, _frame(simulation.take("resources")), self._named(timelines))

    def _named(self, timelines: pl.DataFrame) -> pl.DataFrame:
        """Name the rows of timelines after the kind of wait; a request has one connection, which needs no number."""
        named = timelines.rename({"row": self.wait.singular})
        return named.drop("connection") if self.wait is REQUESTS else named


def _completing(summaries: Sequence[Mapping[str, Any]], name: str | None) -> tuple[int, ...]:
    """Return the numbers of the sources that completed requests: all, or that of this name."""
    names = [summary["name"] for summary in summaries]
    if name is not None and name not in names:
        raise SpecError(f"source: must be a source of the cell ({', '.join(names) or 'none'}), got {name!r}")
    chosen = [number for number, known in enumerate(names) if name in (None, known)]
    completing = tuple(number for number in chosen if summaries[number]["completed"])
    if not completing:
        if all(summaries[number]["datagrams"] for number in chosen):
            raise SpecError(
                f"source: {names[chosen[0]]} sends datagrams, and only requests over TCP or QUIC are explained"
            )
        raise SpecError(
            f"source: {names[chosen[0]]} completed no request, and only completed ones are explained:"
            " record.flows shows what its connections do"
        )
    return completing


def _name(source: Mapping[str, Any]) -> str:
    ((kind, parameters),) = source.items()
    return str(parameters.get("name") or kind)


def _frame(batch: RecordBatch) -> pl.DataFrame:
    frame = pl.from_arrow(pa.record_batch(batch))
    assert isinstance(frame, pl.DataFrame), "a batch has columns"
    return frame


def _without_values(timelines: pl.DataFrame) -> pl.DataFrame:
    """Replace missing numbers by null: offsets of handshakes and timers, and windows without a sender.

    The engine has 0 there; offsets before the first byte wrap around at 32 bits.
    """
    has_offset = (pl.col("segment") != "") & (pl.col("offset") < 2**31)
    return timelines.with_columns(
        offset=pl.when(has_offset).then("offset"), cwnd=pl.when(pl.col("cwnd") > 0).then("cwnd")
    )
