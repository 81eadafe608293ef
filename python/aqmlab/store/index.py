"""The index of a store: one row for each cell, in a few files, so that listing thousands of cells opens none.

::

    results/index/<rows>-<random>.parquet       a segment

A writer adds a segment of one row when its cell is complete, and merges segments of similar size when there are many.
A row is current only while its stamp equals that of its cell: every file of the cell has the same length and
modification time. Cells without a current row are read one by one, so that a lost, damaged or outdated index costs
time but changes no answer. Neither writers nor readers need a lock: a merged segment is written before its parts are
removed, and duplicate rows count once.
"""

from __future__ import annotations

import io
import logging
import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import polars as pl

from aqmlab.storage.errors import StoreError
from aqmlab.storage.io import names, read_bytes, remove, write_bytes
from aqmlab.storage.location import Location
from aqmlab.store import rows

_log = logging.getLogger("aqmlab")

_FORM = "index 1"
"""The format of segments; change it with the meaning of a column, so that earlier segments are ignored."""

FOLDER = "index"
_SEGMENT = re.compile(r"(\d{1,9})-[0-9a-f]{16}\.parquet")

_MERGE_COUNT = 16
"""The number of segments of one size class that are merged to one of the next."""

_ATTEMPTS = 5
"""The number of times a reader lists segments again, if one of them has been merged in the meantime."""

SCHEMA = pl.Schema([*((name, kind) for name, kind in rows.SCHEMA.items() if name != "path"), ("stamp", pl.String())])
"""The columns of a segment: those of :mod:`aqmlab.store.rows` except the path, and the cell's stamp."""

_REQUIRED = ("cell", "stamp", "created", "bytes", *rows.NEVER_NULL)
"""The columns that are always read; none of them is null."""

Stamps = Callable[[Collection[str]], Mapping[str, str]]
"""Returns the stamps of those of the given cells that exist."""


class Index:
    """The index of one store.

    Parameters
    ----------
    out
        The store.
    stamps
        Returns the present stamps of cells.
    """

    def __init__(self, out: Location, stamps: Stamps) -> None:
        self._out = out
        self._stamps = stamps
        self._merging = threading.Lock()

    def rows(self, keys: Collection[str], columns: Iterable[str] = SCHEMA) -> pl.DataFrame:
        """Return the current row of each cell that has one, with these columns and a few more."""
        selected = list(dict.fromkeys((*_REQUIRED, *columns)))
        for _ in range(_ATTEMPTS):
            segments = [self._read(name, selected) for name in self._segments()]
            frames = [segment for segment in segments if segment is not None]
            if len(frames) == len(segments):
                break
        result = pl.concat([_empty(selected), *frames])
        return result if result.is_empty() else self._current(result, keys)

    def add(self, new: pl.DataFrame) -> None:
        """Add rows.

        Raises
        ------
        StoreError
            When they cannot be written.
        """
        self._write(new)
        if not self._merging.acquire(blocking=False):
            return
        try:
            by_size: dict[int, list[str]] = {}
            for name, height in self._segments().items():
                by_size.setdefault(_size_class(height), []).append(name)
            for _, segments in sorted(by_size.items()):
                if len(segments) >= _MERGE_COUNT:
                    self._merge(segments)
        finally:
            self._merging.release()

    def replace(self, new: pl.DataFrame) -> None:
        """Replace all rows.

        Raises
        ------
        StoreError
            When they cannot be written.
        """
        old_segments = self._segments()
        self._write(new)
        for name in old_segments:
            remove(self._out, f"{FOLDER}/{name}")

    def _merge(self, segments: Sequence[str]) -> None:
        """Merge the current rows of segments into one segment; damaged segments are removed."""
        parts = [part for name in segments if (part := self._read(name, list(SCHEMA))) is not None]
        merged = pl.concat([_empty(list(SCHEMA)), *parts])
        self._write(self._current(merged, merged["cell"].unique().to_list()))
        for name in segments:
            remove(self._out, f"{FOLDER}/{name}")

    def _current(self, stored: pl.DataFrame, keys: Collection[str]) -> pl.DataFrame:
        stamps = self._stamps(keys)
        schema = {"cell": pl.String(), "stamp": pl.String()}
        current = pl.DataFrame({"cell": list(stamps), "stamp": list(stamps.values())}, schema=schema)
        return stored.join(current, on=["cell", "stamp"], how="semi").unique("cell")

    def _segments(self) -> dict[str, int]:
        """Return the segments, each with the number of its rows."""
        try:
            files = names(self._out, FOLDER)
        except StoreError as error:
            _log.warning("%s", error)
            return {}
        matched = ((name, _SEGMENT.fullmatch(name)) for name in files)
        return {name: int(match[1]) for name, match in matched if match is not None}

    def _read(self, name: str, columns: list[str]) -> pl.DataFrame | None:
        """Return the rows of a segment, no rows if it is damaged; ``None`` if it has been removed."""
        try:
            content = read_bytes(self._out, f"{FOLDER}/{name}")
            return None if content is None else _parsed(content, columns)
        except (StoreError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = " ".join(str(error).split())[:80]
            _log.warning("%s is damaged and left out: %s", self._out / FOLDER / name, reason)
            return _empty(columns)

    def _write(self, new: pl.DataFrame) -> None:
        if not new.is_empty():
            content = io.BytesIO()
            new.select(SCHEMA.names()).write_parquet(content, metadata={"aqmlab": _FORM})
            write_bytes(self._out, f"{FOLDER}/{new.height}-{secrets.token_hex(8)}.parquet", content.getvalue())


def _parsed(content: bytes, columns: list[str]) -> pl.DataFrame:
    """Parse a segment; one of another format has no rows. Raise ``ValueError`` for an incomplete row."""
    if pl.read_parquet_metadata(io.BytesIO(content)).get("aqmlab") != _FORM:
        return _empty(columns)
    if pl.read_parquet_schema(io.BytesIO(content)) != SCHEMA:
        return _empty(columns)
    parsed = pl.read_parquet(io.BytesIO(content), columns=columns).select(columns)
    if missing := [name for name in _REQUIRED if parsed[name].has_nulls()]:
        raise ValueError(f"{missing[0]} is missing")
    return parsed


def _empty(columns: list[str]) -> pl.DataFrame:
    return pl.DataFrame(schema={name: SCHEMA[name] for name in columns})


def _size_class(height: int) -> int:
    """Return the size class of a segment: a merge of segments of one class makes a segment of the next."""
    size = 0
    while height >= _MERGE_COUNT:
        height, size = height // _MERGE_COUNT, size + 1
    return size
