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
                        flows.parquet           the state of connections over time, if recorded
            aqmlab-store.json                   the marker of a store
            index/                              rows of all cells, so that listing thousands of cells opens none
            notes/                              tags and notes that people gave to cells and experiments
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
_SKIPPED = "%s; the cell is left out"

_BATCH = 2000
"""The number of cells that are read at a time."""

_MAX_ADDED = 1000
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
        self._backend = Directory(self.out) if isinstance(self.out, Path) else Objects(self.out)
        self._index = Index(self.out, self._backend.stamps)

    def get(self, cell: Cell) -> Result | None:
        """Return the stored result of a cell; see :meth:`find`."""
        return self.find([cell], will_run_missing=True).get(cell.key)

    def find(self, cells: Iterable[Cell], *, will_run_missing: bool = False) -> dict[str, Result]:
        """Return the stored results of these cells, by their keys.

        A damaged cell counts as missing.

        Parameters
        ----------
        cells
            The cells to look for.
        will_run_missing
            The caller runs missing cells, so that :meth:`create` reports damaged ones when it sets them aside.
            Otherwise the log names each damaged cell that is left out.

        Raises
        ------
        StoreError
            When the store cannot be read.
        """
        distinct = {cell.key: cell for cell in reversed(list(cells))}
        results = {}
        for key, stored in self._read(distinct):
            if isinstance(stored, StoredCell):
                results[key] = Result(distinct[key], stored.directory, stored.files)
            elif not will_run_missing:
                _log.warning(_SKIPPED, stored)
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
        for key, stored in self._read({cell.key: cell}):
            if isinstance(stored, Damaged):
                self._set_aside(key, stored)
        with self._backend.create(cell.key) as directory:
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
        return len({*self._backend.keys()} & {*keys})

    def get_by_key(self, key: str) -> Result | None:
        """Return the result of a cell by its key; ``None`` if it is missing or damaged.

        Raises
        ------
        SpecError
            When this engine does not understand its spec, for example because a custom law no longer exists.
        """
        for _, stored in self._backend.read([key]):
            if isinstance(stored, StoredCell) and {*_RESULT_FILES} <= {*stored.files}:
                try:
                    summary, spec = (fetch(stored.directory / name, stored.files[name]) for name in _RESULT_FILES)
                    row = rows.row(stored, summary).row(0, named=True)
                    resolved = Resolved(spec.read_text())
                except (Damaged, UnicodeDecodeError):
                    return None
                of_cell: dict[str, Any] = {name: row.get(name) for name in _CELL_COLUMNS}
                return Result(Cell(spec=resolved, **of_cell), stored.directory, stored.files)
        return None

    def check_is_store(self, name: str = "out") -> None:
        """Refuse a directory that is not a store, so that a mistyped name does not look like an empty store.

        A directory with cells and no marker can be read.

        Raises
        ------
        SpecError
            When it is not a store; the message begins with ``name``.
        """
        is_nowhere = isinstance(self.out, Path) and not os.path.isdir(self.out)  # noqa: PTH112 - too long a name
        if is_nowhere or not (marker.is_store(self.out) or self._backend.keys()):
            raise SpecError(f"{name}: must be a results directory, got {self.out}")

    def remove(self, key: str) -> None:
        """Remove a cell atomically.

        Raises
        ------
        StoreError
            When it cannot be removed.
        """
        self._backend.remove(key)

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
        selected = rows.checked_columns(columns)
        keys = self.keys()
        indexed = self._index.rows(keys, [name for name in selected if name != "path"])
        unindexed, damages = self._rows({*keys} - {*indexed["cell"]})
        for damage in damages:
            _log.warning(_SKIPPED, damage)
        all_rows = pl.concat([indexed, unindexed.select(indexed.columns)]).sort("created", "cell")
        path = pl.lit(f"{self._backend.cells / 'x'}"[:-1]) + pl.col("cell")
        return all_rows.with_columns(path=path).select(selected)

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
        unindexed, damages = self._rows({*keys} - {*indexed["cell"]})
        for damage in damages:
            _log.warning(_SKIPPED, damage)
        all_rows = pl.concat([indexed, unindexed.select(indexed.columns)])
        self._index.replace(all_rows)
        return all_rows.height

    def scan(self, table: str) -> pl.LazyFrame:
        """Read one table of all cells, with a column ``cell``; a column that only some laws have is null for others.

        The files are checked first. The log names each damaged cell that is left out.

        Raises
        ------
        SpecError
            When the directory is not a store, or no cell has such a table.
        """
        schema = rows.SUMMARY if table == "summary" else {}
        files, damages = self._with_table(self.keys(), table)
        frame, unlike = scanning.scan(files, schema)
        for damage in (*damages, *unlike):
            _log.warning(_SKIPPED, damage)
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
        keys = self._backend.keys()
        if not keys:
            self.check_is_store()
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
        cells_by_key = dict(self._backend.read(self.keys()))
        damages = {key: stored for key, stored in cells_by_key.items() if isinstance(stored, Damaged)}
        intact = [stored for stored in cells_by_key.values() if isinstance(stored, StoredCell)]
        for name in sorted({name for stored in intact for name in stored.files}):
            with_file = [stored for stored in intact if name in stored.files]
            for stored, file in zip(with_file, self._backend.tables(with_file, name), strict=True):
                if isinstance(file, Damaged):
                    damages.setdefault(stored.directory.name, file)
        return [damages[key] for key in sorted(damages)]

    def _add_to_index(self, key: str) -> None:
        """Add the row of a new cell; the first call of a process also adds some of the missing rows."""
        keys, store = {key}, str(self.out.absolute())
        if store not in _MAINTAINED:
            _MAINTAINED.add(store)
            keys_in_store = self.keys()
            unindexed = sorted({*keys_in_store} - {*self._index.rows(keys_in_store, ())["cell"]})
            # A random sample, so that processes that begin at the same time add different rows.
            keys.update(random.sample(unindexed, min(len(unindexed), _MAX_ADDED)))
        try:
            self._index.add(self._rows(keys)[0])
        except StoreError as error:
            # The cell is complete without its row: lists of cells read the cell itself.
            _log.warning("%s; lists of cells take longer", error)

    def _rows(self, keys: Collection[str]) -> tuple[pl.DataFrame, list[Damaged]]:
        """Read the rows of cells, each with the stamp from before it was read, and the damage of those left out."""
        keys_in_order, frames, damages = sorted(keys), [rows.NO_ROWS.with_columns(stamp=pl.lit("", pl.String))], []
        for start in range(0, len(keys_in_order), _BATCH):
            batch = keys_in_order[start : start + _BATCH]
            stamps, batch_frames = self._backend.stamps(batch), []
            cells, batch_damages = self._with_table(batch, "summary")
            damages += batch_damages
            for cell, file in cells:
                try:
                    stamp = stamps.get(cell.directory.name, "")
                    batch_frames.append(rows.row(cell, file).with_columns(stamp=pl.lit(stamp, pl.String)))
                except Damaged as damage:
                    damages.append(damage)
            if batch_frames:
                frames.append(pl.concat(batch_frames, rechunk=True))
        return pl.concat(frames), damages

    def _with_table(self, keys: Iterable[str], table: str) -> tuple[list[tuple[StoredCell, Path]], list[Damaged]]:
        """Return the cells that have a table, each with its local file, and the damage of those left out."""
        name = f"{table}.parquet"
        intact, damages = [], []
        for _, stored in self._backend.read(list(keys)):
            if isinstance(stored, Damaged):
                damages.append(stored)
            elif name in stored.files:
                intact.append(stored)
            elif table == "summary":
                damages.append(Damaged(f"{stored.directory / name} is damaged: no such file"))
        files = []
        for cell, file in zip(intact, self._backend.tables(intact, name), strict=True):
            if isinstance(file, Damaged):
                damages.append(file)
            else:
                files.append((cell, file))
        return files, damages

    def _read(self, cells: Mapping[str, Cell]) -> Iterator[tuple[str, StoredCell | Damaged]]:
        """Yield each of these cells that exists by its key, or its damage."""
        for key, stored in self._backend.read(list(cells)):
            if isinstance(stored, StoredCell) and not _matches(stored, cells[key]):
                yield key, Damaged(f"{stored.directory} is damaged: it is another cell's")
            else:
                yield key, stored

    def _set_aside(self, key: str, damage: Damaged) -> None:
        try:
            location = self._backend.set_aside(key)
        except StoreError as error:
            directory = self._backend.cells / key
            raise StoreError(f"{damage}; remove {directory}, which cannot be set aside ({error})") from None
        if location is not None:
            _log.warning("%s; the cell is set aside as %s and run again", damage, location)


def _matches(stored: StoredCell, cell: Cell) -> bool:
    """Return true if a stored cell has the spec and the seed of this cell."""
    spec = hashlib.sha256(f"{cell.spec.json}\n".encode()).hexdigest()
    digest = stored.files.get("spec.json")
    return digest is not None and digest.sha256 == spec and stored.metadata.get("seed") == cell.seed


_RESULT_FILES = ("summary.parquet", "spec.json")

_CELL_COLUMNS = [
    "label",
    "signal",
    "load_percent",
    "users_per_side",
    "seed",
    "kernel",
    "testbed",
    "experiment",
    "variant",
]
"""The columns that make a cell from a row, besides its spec."""
