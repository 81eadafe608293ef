"""The store: a directory of cells. Each cell is a directory of Parquet tables, which is created atomically.

::

    results/cells/<key>/spec.json               the resolved spec
                        metadata.json           seed, versions, machine, wall and CPU time, checksums of the files
                        summary.parquet         one row: identity and measures
                        queue.parquet           every 10 ms: packets, bytes, the law's variables
                        link.parquet            every 100 ms: bytes, packets, drops, marks by direction
                        response_times.parquet  log histogram by response size
                        exchanges.parquet       one row for each request, if recorded
                        losses.parquet          one row for each packet dropped, if recorded
            aqmlab-store.json                   the marker of a store
            index/                              rows of all cells, so that listing thousands of cells opens none
            drafts/                             cells that are being written
            damaged/<key>                       damaged cells, which were run again

Any reader of Parquet can query it: ``SELECT * FROM read_parquet('results/cells/*/queue.parquet', filename=true)``.
Spec, seed and results number decide every byte of the Parquet files, except for the scheme's label, which is stored as
typed. Facts about the machine are in ``metadata.json``.

A store may be remote: ``s3://bucket/prefix``, or any other URL that fsspec knows, has the same files except drafts.
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
"""The number of cells that are read at a time."""

_MOST_ADDED = 1000
"""The largest number of missing rows that a process adds to the index, in some four seconds."""

_MAINTAINED: set[str] = set()
"""The stores whose index this process has checked for missing rows."""


class Store:
    """The cells of a results directory, which is created for the first cell. Reading writes nothing.

    Parameters
    ----------
    out
        The directory, or the URL of a remote store, such as ``"s3://bucket/prefix"``.

    Raises
    ------
    SpecError
        When fsspec does not know the URL's protocol, or its package is not installed.
    """

    def __init__(self, out: Location | str) -> None:
        self.out = location(out)
        self._place = Directory(self.out) if isinstance(self.out, Path) else Objects(self.out)
        self._index = Index(self.out, self._place.stamps)

    def get(self, cell: Cell) -> Result | None:
        """Return the stored result of a cell; see :meth:`found`."""
        return self.found([cell], missing_are_run=True).get(cell.key)

    def found(self, cells: Iterable[Cell], *, missing_are_run: bool = False) -> dict[str, Result]:
        """Return the stored results of these cells, by their keys.

        A damaged cell counts as missing.

        Parameters
        ----------
        cells
            The cells to look for.
        missing_are_run
            The caller runs missing cells, so that :meth:`create` reports damaged ones when it sets them aside.
            Otherwise the log names each damaged cell that is left out.

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
        """Return a draft directory, which becomes the cell when the block ends without an error.

        After an error the draft is removed. A damaged cell with the same key is first moved to ``damaged``.

        Raises
        ------
        WriteError
            When the directory is neither a store nor empty, or cannot be written to. It is a :class:`SpecError` and a
            :class:`StoreError`.
        StoreError
            When a remote store cannot be written to, or a damaged cell cannot be set aside.
        """
        for key, kept in self._read({cell.key: cell}):
            if isinstance(kept, Damaged):
                self._set_aside(key, kept)
        with self._place.create(cell.key) as directory:
            yield directory
        self._add_to_index(cell.key)

    def init(self) -> None:
        """Make the directory a store; it may have other files.

        Raises
        ------
        StoreError
            When it cannot be written to.
        """
        marker.create(self.out)

    def count(self, keys: Iterable[str]) -> int:
        """Return how many of these cells exist, without checking them for damage."""
        return len({*self._place.keys()} & {*keys})

    def kept(self, key: str) -> Result | None:
        """Return the result of a cell by its key; ``None`` if it is missing or damaged.

        Raises
        ------
        SpecError
            When this engine does not understand its spec, for example because a custom law no longer exists.
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
        """Refuse a directory that is not a store, so that a mistyped name does not look like an empty store.

        A directory with cells and no marker can be read.

        Raises
        ------
        SpecError
            When it is not a store; the message begins with ``name``.
        """
        is_nowhere = isinstance(self.out, Path) and not os.path.isdir(self.out)  # noqa: PTH112 - too long a name
        if is_nowhere or not (marker.is_store(self.out) or self._place.keys()):
            raise SpecError(f"{name}: must be a results directory, got {self.out}")

    def remove(self, key: str) -> None:
        """Remove a cell atomically.

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
            The columns to return; fewer columns need less time and memory.

        Returns
        -------
        polars.DataFrame
            ``cell``, the key that joins tables from :meth:`scan`; the scheme as typed (``label``),
            discipline, parameters as JSON, signal, load, users, round-trip times, seed and results number; the
            measures, with a column such as ``response_time_ms_p50`` for each of their numbers; ``unmet``, the checks
            that its numbers fail (:mod:`aqmlab.running.checks`), null if they were not checked; ``valid`` of a live
            run, otherwise null; its ``path``, its size in ``bytes``, and the time when it was ``created``. Lists, such
            as links, are in ``scan("summary")``.

        Raises
        ------
        SpecError
            When the directory is not a store, or a column does not exist.

        Notes
        -----
        Rows come from the index (``results/index``) unless a file of the cell has changed since; then they come from
        the cell itself. The log names each damaged cell that is left out. A flipped bit that changes neither length
        nor modification time of a file is detected by :meth:`check` and by the readers of that file.
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
        """Add the missing cells to the index and write it as one file; return its number of cells.

        Writers maintain the index: this is needed only after a store was copied without modification times.

        Raises
        ------
        SpecError
            When the directory is not a store.
        StoreError
            When the index cannot be written.
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
        """Read one table of all cells, with a column ``cell``; a column that only some laws have is null for others.

        The files are checked first. The log names each damaged cell that is left out.

        Raises
        ------
        SpecError
            When the directory is not a store, or no cell has such a table.
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
        """Return the keys of all cells, without checking them for damage.

        Raises
        ------
        SpecError
            When the directory is not a store.
        """
        keys = self._place.keys()
        if not keys:
            self.check_is_one()
        return keys

    def check(self) -> list[Damaged]:
        """Check every file of every cell, and return one error for each damaged cell.

        Other programs that read the Parquet files, such as DuckDB, do not notice flipped bits: check the store before
        you use them.

        Raises
        ------
        SpecError
            When the directory is not a store.
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
        """Add the row of a new cell; the first call of a process also adds some of the missing rows."""
        keys, store = {key}, str(self.out.absolute())
        if store not in _MAINTAINED:
            _MAINTAINED.add(store)
            there = self.keys()
            without = sorted({*there} - {*self._index.rows(there, ())["cell"]})
            # A random sample, so that processes that begin at the same time add different rows.
            keys.update(random.sample(without, min(len(without), _MOST_ADDED)))
        try:
            self._index.add(self._rows(keys)[0])
        except StoreError as error:
            # The cell is complete without its row: lists of cells read the cell itself.
            _log.warning("%s; lists of cells take longer", error)

    def _rows(self, keys: Collection[str]) -> tuple[pl.DataFrame, list[Damaged]]:
        """Read the rows of cells, each with the stamp from before it was read, and the damage of those left out."""
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
        """Return the cells that have a table, each with its local file, and the damage of those left out."""
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
        """Yield each of these cells that exists by its key, or its damage."""
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
    """Return true if a stored cell has the spec and the seed of this cell."""
    spec = hashlib.sha256(f"{cell.spec.json}\n".encode()).hexdigest()
    written = kept.files.get("spec.json")
    return written is not None and written.sha256 == spec and kept.metadata.get("seed") == cell.seed


_OF_RESULT = ("summary.parquet", "spec.json")

_OF_CELL = ["label", "signal", "load_percent", "users_per_side", "seed", "kernel", "testbed", "experiment", "variant"]
"""The columns that make a cell from a row, besides its spec."""
