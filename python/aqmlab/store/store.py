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
            aqmlab-store.json                   what says that this directory is a store
            index/                              rows of all cells, so that a list of thousands opens no cell
            drafts/                             cells that are being written
            damaged/<key>                       cells that were found damaged, and were run again

Whatever reads Parquet reads it: ``SELECT * FROM read_parquet('results/cells/*/queue.parquet', filename=true)``.
The Parquet files depend on spec, seed and results number alone, to the byte, but for how the scheme was typed; what a
machine adds is in ``metadata.json``.

A store may be elsewhere: ``s3://bucket/prefix``, or any URL of fsspec's, has the same files, but for the drafts.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab._core import Resolved, SpecError
from aqmlab.cells.cell import Cell
from aqmlab.storage import marker, scanning
from aqmlab.storage.directory import Directory
from aqmlab.storage.errors import Damaged, StoreError
from aqmlab.storage.integrity import StoredCell
from aqmlab.storage.io import fetch
from aqmlab.storage.location import Location, location
from aqmlab.storage.object_store import Objects
from aqmlab.store import rows
from aqmlab.store.index import Index
from aqmlab.store.result import Result

_log = logging.getLogger("aqmlab")
_LEFT_OUT = "%s; the cell is left out"

_AT_ONCE = 2000
"""Cells that are read at a time."""

_MOST_ADDED = 1000
"""Rows of other cells that a process adds to the index: some four seconds."""

_MAINTAINED: set[str] = set()
"""The stores whose index this process has looked through for cells without a row."""


class Store:
    """The cells of a results directory, which is made for the first of them; reading writes nothing.

    Parameters
    ----------
    out
        The directory, or the URL of one elsewhere, such as ``"s3://bucket/prefix"``.

    Raises
    ------
    SpecError
        When nobody knows the URL's protocol, or the package that speaks it is not installed.
    """

    def __init__(self, out: Location | str) -> None:
        self.out = location(out)
        self._place = Directory(self.out) if isinstance(self.out, Path) else Objects(self.out)
        self._index = Index(self.out, self._place.stamps)

    def get(self, cell: Cell) -> Result | None:
        """Return the result of a cell that has been run before; see :meth:`found`."""
        return self.found([cell], missing_are_run=True).get(cell.key)

    def found(self, cells: Iterable[Cell], *, missing_are_run: bool = False) -> dict[str, Result]:
        """Return the results of those cells that have been run before, by their keys.

        One that is damaged has not been run before.

        Parameters
        ----------
        cells
            What to look for.
        missing_are_run
            Whether the caller runs the others: :meth:`create` then says of a damaged one that it is set aside. Else a
            line of the log says that it is left out.

        Raises
        ------
        StoreError
            When the store cannot be read.
        """
        distinct = {cell.key: cell for cell in reversed(list(cells))}
        results = {}
        for key, kept in self._read(distinct):
            if isinstance(kept, StoredCell):
                results[key] = Result(distinct[key], kept.directory, kept.files)
            elif not missing_are_run:
                _log.warning(_LEFT_OUT, kept)
        return results

    @contextmanager
    def create(self, cell: Cell) -> Iterator[Path]:
        """Give a directory to write a cell's files into; it becomes the cell when the block ends well.

        When the block does not, nothing is left of it. A damaged cell in its place is set aside in ``damaged`` before.

        Raises
        ------
        Unwritable
            When the directory is no store and not empty, or cannot be written to: a :class:`SpecError` and a
            :class:`StoreError`.
        StoreError
            When one elsewhere cannot be written to, or a damaged cell cannot be set aside.
        """
        for key, kept in self._read({cell.key: cell}):
            if isinstance(kept, Damaged):
                self._set_aside(key, kept)
        with self._place.create(cell.key) as directory:
            yield directory
        self._add_to_index(cell.key)

    def init(self) -> None:
        """Make the directory, which may hold other files, a store that takes cells.

        Raises
        ------
        StoreError
            When it cannot be written to.
        """
        marker.create(self.out)

    def count(self, keys: Iterable[str]) -> int:
        """Return how many cells of these keys are there, at a glance: whether one is damaged shows when it is read."""
        return len({*self._place.keys()} & {*keys})

    def kept(self, key: str) -> Result | None:
        """Return the result of a cell by its key, whoever has run it; one that is damaged is not there.

        Raises
        ------
        SpecError
            When this engine does not understand its spec, as that of a law which is no more.
        """
        for _, kept in self._place.read([key]):
            if isinstance(kept, StoredCell) and {*_OF_RESULT} <= {*kept.files}:
                try:
                    summary, spec = (fetch(kept.directory / name, kept.files[name]) for name in _OF_RESULT)
                    row = rows.row(kept, summary).row(0, named=True)
                    resolved = Resolved(spec.read_text())
                except (Damaged, UnicodeDecodeError):
                    return None
                of_cell: dict[str, Any] = {name: row.get(name) for name in _OF_CELL}
                return Result(Cell(spec=resolved, **of_cell), kept.directory, kept.files)
        return None

    def check_is_one(self, name: str = "out") -> None:
        """Refuse a directory that is no store, so that a mistyped name does not look like an empty one.

        A directory that has cells and no marker can be read.

        Raises
        ------
        SpecError
            When it is none; the line begins with ``name``.
        """
        is_nowhere = isinstance(self.out, Path) and not os.path.isdir(self.out)  # noqa: PTH112 - too long a name
        if is_nowhere or not (marker.is_store(self.out) or self._place.keys()):
            raise SpecError(f"{name}: must be a results directory, got {self.out}")

    def remove(self, key: str) -> None:
        """Remove a cell: all of it at one instant.

        Raises
        ------
        StoreError
            When it cannot be removed.
        """
        self._place.remove(key)

    def cells(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return a row for each cell, the newest last.

        Parameters
        ----------
        columns
            Return these columns alone, which takes less time and memory.

        Returns
        -------
        polars.DataFrame
            ``cell``, the key that joins tables from :meth:`scan`; the scheme as typed (``label``),
            discipline, parameters as JSON, signal, load, users, round-trip times, seed and results number; what it
            measured, the parts of a measure as ``response_time_ms_p50``; ``unmet``, the laws that its numbers do not
            keep (:mod:`aqmlab.running.checks`), null where they have not been checked; whether a live run finds itself
            ``valid``, null elsewhere; its ``path``, its size in ``bytes``, and when it was ``created``. What there are
            several of in a cell, such as links, is in ``scan("summary")``.

        Raises
        ------
        SpecError
            When the directory is no store, or a column does not exist.

        Notes
        -----
        Rows come from the index that writers keep (``results/index``) where no file of the cell has changed since, and
        from the cell itself elsewhere. A cell that is damaged is left out, and a line of the log names it; where a bit
        of a file has flipped and its length and time have not changed, :meth:`check` and the readers of that file
        find it.
        """
        chosen = rows.checked_columns(columns)
        keys = self.keys()
        indexed = self._index.rows(keys, [name for name in chosen if name != "path"])
        others, damages = self._rows({*keys} - {*indexed["cell"]})
        for damage in damages:
            _log.warning(_LEFT_OUT, damage)
        found = pl.concat([indexed, others.select(indexed.columns)]).sort("created", "cell")
        place = pl.lit(f"{self._place.cells / 'x'}"[:-1]) + pl.col("cell")
        return found.with_columns(path=place).select(chosen)

    def compact(self) -> int:
        """Read the cells that the index does not have, and write all of it as one file; return how many cells it has.

        Writers keep the index, so that this is needed after a store was copied without the times of its files.

        Raises
        ------
        SpecError
            When the directory is no store.
        StoreError
            When it cannot be written.
        """
        keys = self.keys()
        indexed = self._index.rows(keys)
        others, damages = self._rows({*keys} - {*indexed["cell"]})
        for damage in damages:
            _log.warning(_LEFT_OUT, damage)
        found = pl.concat([indexed, others.select(indexed.columns)])
        self._index.replace(found)
        return found.height

    def scan(self, table: str) -> pl.LazyFrame:
        """Read one table of all cells, with a column ``cell``: what only some laws have is null elsewhere.

        The files are checked before. A line of the log names each cell that is damaged and left out.

        Raises
        ------
        SpecError
            When the directory is no store, or no cell has such a table.
        """
        known = rows.SUMMARY if table == "summary" else {}
        found, damages = self._with_table(self.keys(), table)
        frame, others = scanning.scan(found, known)
        for damage in (*damages, *others):
            _log.warning(_LEFT_OUT, damage)
        if frame is None:
            raise SpecError(f"table: no cell in {self.out} has a table of this name, got {table!r}")
        return frame

    def keys(self) -> list[str]:
        """Return the keys of all cells; reading a cell shows whether it is damaged.

        Raises
        ------
        SpecError
            When the directory is no store.
        """
        keys = self._place.keys()
        if not keys:
            self.check_is_one()
        return keys

    def check(self) -> list[Damaged]:
        """Read every file of every cell, and return the damage: one error for each damaged cell.

        Programs that read the Parquet files by themselves, such as DuckDB, do not notice flipped bits: check the store
        before.

        Raises
        ------
        SpecError
            When the directory is no store.
        StoreError
            When a file cannot be read.
        """
        found = dict(self._place.read(self.keys()))
        damages = {key: kept for key, kept in found.items() if isinstance(kept, Damaged)}
        whole = [kept for kept in found.values() if isinstance(kept, StoredCell)]
        for name in sorted({name for kept in whole for name in kept.files}):
            having = [kept for kept in whole if name in kept.files]
            for kept, file in zip(having, self._place.tables(having, name), strict=True):
                if isinstance(file, Damaged):
                    damages.setdefault(kept.directory.name, file)
        return [damages[key] for key in sorted(damages)]

    def _add_to_index(self, key: str) -> None:
        """Add the row of a new cell, and the first time in a process some of cells that have none."""
        keys, store = {key}, str(self.out.absolute())
        if store not in _MAINTAINED:
            _MAINTAINED.add(store)
            there = self.keys()
            without = sorted({*there} - {*self._index.rows(there, ())["cell"]})
            # Processes that begin at the same time take different ones.
            keys.update(random.sample(without, min(len(without), _MOST_ADDED)))
        try:
            self._index.add(self._rows(keys)[0])
        except StoreError as error:
            # The cell is there, and is read itself where cells are listed.
            _log.warning("%s; lists of cells take longer", error)

    def _rows(self, keys: Collection[str]) -> tuple[pl.DataFrame, list[Damaged]]:
        """Read the rows of cells, with the stamps that they had before, and what is wrong with those left out."""
        every, frames, damages = sorted(keys), [rows.NO_ROWS.with_columns(stamp=pl.lit("", pl.String))], []
        for start in range(0, len(every), _AT_ONCE):
            batch = every[start : start + _AT_ONCE]
            stamps, frame = self._place.stamps(batch), []
            found, wrong = self._with_table(batch, "summary")
            damages += wrong
            for cell, file in found:
                try:
                    stamp = stamps.get(cell.directory.name, "")
                    frame.append(rows.row(cell, file).with_columns(stamp=pl.lit(stamp, pl.String)))
                except Damaged as damage:
                    damages.append(damage)
            if frame:
                frames.append(pl.concat(frame, rechunk=True))
        return pl.concat(frames), damages

    def _with_table(self, keys: Iterable[str], table: str) -> tuple[list[tuple[StoredCell, Path]], list[Damaged]]:
        """Return the cells that have a table, and where it can be read; and what is wrong with those left out."""
        name = f"{table}.parquet"
        whole, damages = [], []
        for _, kept in self._place.read(list(keys)):
            if isinstance(kept, Damaged):
                damages.append(kept)
            elif name in kept.files:
                whole.append(kept)
            elif table == "summary":
                damages.append(Damaged(f"{kept.directory / name} is damaged: no such file"))
        found = []
        for cell, file in zip(whole, self._place.tables(whole, name), strict=True):
            if isinstance(file, Damaged):
                damages.append(file)
            else:
                found.append((cell, file))
        return found, damages

    def _read(self, cells: Mapping[str, Cell]) -> Iterator[tuple[str, StoredCell | Damaged]]:
        """Look at those of these cells that are there, each by its key."""
        for key, kept in self._place.read(list(cells)):
            if isinstance(kept, StoredCell) and not _matches(kept, cells[key]):
                yield key, Damaged(f"{kept.directory} is damaged: it is another cell's")
            else:
                yield key, kept

    def _set_aside(self, key: str, damage: Damaged) -> None:
        try:
            place = self._place.set_aside(key)
        except StoreError as error:
            directory = self._place.cells / key
            raise StoreError(f"{damage}; remove {directory}, which cannot be set aside ({error})") from None
        if place is not None:
            _log.warning("%s; the cell is set aside as %s and run again", damage, place)


def _matches(kept: StoredCell, cell: Cell) -> bool:
    """Say whether what is kept in a cell's place is that cell."""
    spec = hashlib.sha256(f"{cell.spec.json}\n".encode()).hexdigest()
    written = kept.files.get("spec.json")
    return written is not None and written.sha256 == spec and kept.metadata.get("seed") == cell.seed


_OF_RESULT = ("summary.parquet", "spec.json")

_OF_CELL = ["label", "signal", "load_percent", "users_per_side", "seed", "kernel", "testbed", "experiment", "variant"]
"""What a cell is beside its spec."""
