"""The store: a directory of cells, each a directory of Parquet tables that appears complete or not at all.

::

    results/cells/<key>/spec.json               the resolved spec
                        metadata.json           seed, versions, machine, wall and CPU time, checksums of the others
                        summary.parquet         one row: what the cell is, and what it measured
                        queue.parquet           every 10 ms: packets, bytes, the law's variables
                        link.parquet            every 100 ms: bytes, packets, drops, marks by direction
                        response_times.parquet  log histogram by response size
                        exchanges.parquet       one row for each request, when asked for
                        losses.parquet          one row for each packet dropped, when asked for
            cells.parquet                       the summaries of all, where they have been put together
            drafts/                             cells that are being written
            damaged/<key>                       cells that were found damaged, and were run again

Whatever reads Parquet reads it: ``SELECT * FROM read_parquet('results/cells/*/queue.parquet', filename=true)``.
The Parquet files depend on spec, seed and results number alone, to the byte, but for how the scheme was typed; what a
machine adds is in ``metadata.json``.
"""

from __future__ import annotations

import itertools
import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab._core import Resolved, SpecError
from aqmlab.results.result import Result
from aqmlab.running.cell import IDENTITY, Cell
from aqmlab.running.files import index
from aqmlab.running.files.drafts import Drafts
from aqmlab.running.integrity import Damaged, StoreError, check_all, files_of, read_metadata, writing

_log = logging.getLogger("aqmlab")


class Store:
    """The cells below one results directory, which is made for the first of them; reading writes nothing.

    What processes that were killed have left of theirs is removed.
    """

    def __init__(self, out: Path | str) -> None:
        self.out = Path(out)
        self._cells = self.out / "cells"
        self._index = self.out / "cells.parquet"
        self._drafts = Drafts(self.out / "drafts")
        # Where nothing can be removed, the rest can still be read.
        with suppress(OSError):
            self._drafts.sweep()
            # Drafts of earlier versions.
            for draft in self._cells.glob(".*"):
                shutil.rmtree(draft, ignore_errors=True)

    def get(self, cell: Cell) -> Result | None:
        """Return the result of a cell that has been run before.

        One that is damaged is set aside in ``damaged``, a line of the log says so, and it has not been run before.

        Raises
        ------
        StoreError
            When it cannot be set aside.
        """
        directory = self._cells / cell.key
        if not os.path.lexists(directory):
            return None
        try:
            metadata = read_metadata(directory)
            files = files_of(directory, metadata)
            check_all(directory, files)
            if (directory / "spec.json").read_text() != cell.spec.json + "\n" or metadata.get("seed") != cell.seed:
                raise Damaged(f"{directory} is damaged: it is another cell's")
        except Damaged as damage:
            self._set_aside(directory, damage)
            return None
        return Result(cell, directory, files)

    @contextmanager
    def create(self, cell: Cell) -> Iterator[Path]:
        """Give a directory to write a cell's files into; it becomes the cell when the block ends well.

        When the block does not, nothing is left of it.

        Raises
        ------
        SpecError
            When the results directory cannot be written to.
        """
        with ExitStack() as stack:
            try:
                self._cells.mkdir(parents=True, exist_ok=True)
                draft = stack.enter_context(self._drafts.new(cell.key))
            except OSError as error:
                raise SpecError(f"out: must be a directory to write to, got {self.out} ({error.strerror})") from None
            yield draft
            directory = self._cells / cell.key
            try:
                draft.rename(directory)
            except OSError as error:
                # Another process has made the same cell meanwhile; its bytes are ours.
                if not directory.is_dir():
                    raise StoreError(f"{directory}: cannot be written: {error.strerror}") from None

    def kept(self, key: str) -> Result | None:
        """Return the result of a cell by its key, whoever has run it; one that is damaged is not there.

        Raises
        ------
        SpecError
            When this engine does not understand its spec, as that of a law which is no more.
        """
        directory = self._cells / key
        try:
            metadata = read_metadata(directory)
            files = files_of(directory, metadata)
            check_all(directory, files)
        except Damaged:
            return None
        row = pl.read_parquet(directory / "summary.parquet", columns=_OF_CELL).row(0, named=True)
        spec = Resolved((directory / "spec.json").read_text())
        return Result(Cell(spec=spec, **row), directory, files)

    def remove(self, key: str) -> None:
        """Remove a cell: all of it at one instant.

        Raises
        ------
        StoreError
            When it cannot be removed.
        """
        with writing(self._cells / key), self._drafts.new(key) as draft:
            (self._cells / key).rename(draft)

    def cells(self) -> pl.DataFrame:
        """Return a row for each cell, the newest last.

        Returns
        -------
        polars.DataFrame
            ``cell``, its key, by which tables from :meth:`scan` are joined; the scheme as typed (``label``),
            discipline, parameters as JSON, signal, load, users, round-trip times, seed and results number; what it
            measured, the parts of a measure as ``response_time_ms_p50``; whether a live run finds itself ``valid``,
            null elsewhere; its ``path``, its size in ``bytes``, and when it was ``created``. What there are several of
            in a cell, such as links, is in ``scan("summary")``. Cells that :meth:`compact` has put together are not
            looked at one by one, and so not found damaged here.
        """
        known = index.read(self._index)
        there = self._names()
        frames = [_NO_CELLS]
        if known is not None:
            frames.append(known.filter(pl.col("cell").is_in(there)).with_columns(path=_path(self._cells)))
            there = sorted({*there} - {*known["cell"]})
        frames += [_row(directory, metadata) for directory, metadata in self._whole(there)]
        return pl.concat(frames, how="diagonal_relaxed").sort("created", "cell")

    def compact(self) -> int:
        """Put the summaries of all cells into one file, so that :meth:`cells` need not read each; return how many.

        Raises
        ------
        StoreError
            When it cannot be written.
        """
        rows = self.cells()
        index.write(self._index, rows)
        return rows.height

    def scan(self, table: str) -> pl.LazyFrame:
        """Read one table of all cells, with a column ``cell``: what only some laws have is null elsewhere."""
        files = [
            file for directory, _ in self._whole(self._names()) if (file := directory / f"{table}.parquet").is_file()
        ]
        if not files:
            raise SpecError(f"table: no cell in {self.out} has a table of this name, got {table!r}")
        frames = [pl.scan_parquet(file).with_columns(cell=pl.lit(file.parent.name)) for file in files]
        return pl.concat(frames, how="diagonal_relaxed")

    def _names(self) -> list[str]:
        """List the keys of all cells."""
        try:
            return sorted(cell.name for cell in self._cells.iterdir() if not cell.name.startswith("."))
        except FileNotFoundError:
            return []

    def _whole(self, names: Iterable[str]) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield cells with their metadata; one that is damaged is left out, and a line of the log says so."""
        for directory in (self._cells / name for name in names):
            try:
                metadata = read_metadata(directory)
                check_all(directory, files_of(directory, metadata))
            except Damaged as damage:
                _log.warning("%s; the cell is left out", damage)
            else:
                yield directory, metadata

    def _set_aside(self, directory: Path, damage: Damaged) -> None:
        aside = self.out / "damaged"
        names = itertools.chain([directory.name], (f"{directory.name}-{n}" for n in itertools.count(2)))
        place = next(place for name in names if not os.path.lexists(place := aside / name))
        try:
            aside.mkdir(exist_ok=True)
            directory.rename(place)
        except FileNotFoundError:
            return  # Another process was first.
        except OSError as error:
            raise StoreError(f"{damage}; remove {directory}, which cannot be set aside ({error.strerror})") from None
        _log.warning("%s; the cell is set aside as %s and run again", damage, place)


_OF_CELL = ["label", "signal", "load_percent", "users_per_side", "rtt", "seed", "kernel"]
"""What a cell is beside its spec."""

_PLACE: dict[str, type[pl.DataType] | pl.DataType] = {
    "valid": pl.Boolean,
    "path": pl.String,
    "bytes": pl.Int64,
    "created": pl.Datetime("us", "UTC"),
}

_NO_CELLS = pl.DataFrame(schema={"cell": pl.String, **pl.DataFrame(IDENTITY.empty_table()).schema, **_PLACE})


def _path(cells: Path) -> pl.Expr:
    """Say where cells are now: an index may have been moved with them."""
    return pl.lit(f"{cells}{os.sep}") + pl.col("cell")


def _row(directory: Path, metadata: dict[str, Any]) -> pl.DataFrame:
    summary = pl.read_parquet(directory / "summary.parquet")
    while parts := [name for name, kind in summary.schema.items() if isinstance(kind, pl.Struct)]:
        summary = summary.with_columns(pl.col(name).name.prefix_fields(f"{name}_") for name in parts).unnest(parts)
    summary = summary.drop(name for name, kind in summary.schema.items() if isinstance(kind, pl.List))
    place = {
        "valid": metadata["live"]["valid"] if "live" in metadata else None,
        "path": str(directory),
        "bytes": sum(file.stat().st_size for file in directory.iterdir()),
        "created": datetime.fromisoformat(metadata["created"]),
    }
    return summary.select(
        pl.lit(directory.name).alias("cell"),
        pl.all(),
        *(pl.lit(value, _PLACE[name]).alias(name) for name, value in place.items()),
    )
