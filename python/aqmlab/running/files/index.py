"""The index of a store: rows of its cells in a few files, so that a list of thousands opens no cell.

::

    results/index/<rows>-<random>.parquet

Each writer adds a segment of one row when its cell is there, and merges segments of one size when there are many. A
reader takes the rows of cells that are as they were, and reads other cells one by one: an index that is lost, damaged,
old or behind costs time and changes no answer. Writers and readers wait for no lock: a merged segment is written before
its parts are removed, and a row that is there twice counts once.
"""

from __future__ import annotations

import io
import logging
import re
import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from aqmlab.running.files.content import get, names, put, remove
from aqmlab.running.files.location import Location
from aqmlab.running.identity import rows
from aqmlab.running.integrity import StoreError

_log = logging.getLogger("aqmlab")

_FORM = "index 1"
"""Another text makes earlier segments worthless: changed with the meaning of a column."""

_FOLDER = "index"
_SEGMENT = re.compile(r"(\d{1,9})-[0-9a-f]{16}\.parquet")
_MERGED = 16
"""Segments of one size that become one of the next."""

_TIMES = 5
"""How often a reader lists the segments anew when one has been merged meanwhile."""

SCHEMA = pl.Schema(
    [
        *((name, kind) for name, kind in rows.SCHEMA.items() if name != "path"),
        ("stamp", pl.String()),
        ("metadata_sha256", pl.String()),
    ]
)
"""A row of :mod:`aqmlab.running.identity.rows` but for its path, the cell's stamp then, and its metadata's checksum."""

Digests = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the checksums of the metadata of cells, of those whose metadata can be read."""

_merging = threading.Lock()


def read(out: Location, columns: Sequence[str] = tuple(SCHEMA)) -> pl.DataFrame:
    """Return the rows of all segments, some of which may be old; a segment that is damaged has none."""
    for _ in range(_TIMES):
        segments = _listed(out)
        found = [_read(out, name, columns) for name in segments]
        if None not in found:
            break
    return pl.concat([_none(columns), *(each for each in found if each is not None)])


def current(found: pl.DataFrame, stamps: Mapping[str, str], digests: Digests) -> pl.DataFrame:
    """Return those rows whose cells are as they were, one for each, with their stamps of today.

    Parameters
    ----------
    found
        Rows of an index.
    stamps
        Those of all cells that are there.
    digests
        Asked for cells whose stamp is another one, as that of a copy is.
    """
    now = pl.DataFrame({"cell": list(stamps), "now": list(stamps.values())}, schema=dict.fromkeys(("cell", "now"), pl.String))
    joined = found.join(now, on="cell", how="inner")
    same = joined.filter(pl.col("stamp") == pl.col("now")).unique("cell")
    moved = joined.join(same, on="cell", how="anti")
    if not moved.is_empty():
        sums = digests(moved["cell"].unique().to_list())
        kept = pl.DataFrame({"cell": list(sums), "metadata_sha256": list(sums.values())}, schema=dict.fromkeys(("cell", "metadata_sha256"), pl.String))
        moved = moved.join(kept, on=["cell", "metadata_sha256"], how="semi").unique("cell")
    return pl.concat([same, moved]).with_columns(stamp="now").drop("now")


def add(out: Location, row: pl.DataFrame, is_current: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Add a cell's row; now and then merge segments, of which those rows are kept that are current.

    Raises
    ------
    StoreError
        When it cannot be written.
    """
    _write(out, row)
    if _merging.acquire(blocking=False):
        try:
            by_size = defaultdict(list)
            for name, height in _listed(out).items():
                by_size[_size(height)].append(name)
            for _, segments in sorted(by_size.items()):
                if len(segments) >= _MERGED:
                    _merge(out, segments, is_current)
        finally:
            _merging.release()


def replace(out: Location, rows: pl.DataFrame) -> None:
    """Put rows in the place of all that an index has.

    Raises
    ------
    StoreError
        When it cannot be written.
    """
    before = names(out, _FOLDER)
    if not rows.is_empty():
        _write(out, rows)
    for name in before:
        if _SEGMENT.fullmatch(name):
            remove(out, f"{_FOLDER}/{name}")


def _merge(out: Location, segments: Sequence[str], is_current: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    found = [each for name in segments if (each := _read(out, name, tuple(SCHEMA))) is not None]
    if found and not (kept := is_current(pl.concat(found))).is_empty():
        _write(out, kept)
    for name in segments:
        remove(out, f"{_FOLDER}/{name}")


def _listed(out: Location) -> dict[str, int]:
    """List the segments with how many rows each says that it has."""
    matched = ((name, _SEGMENT.fullmatch(name)) for name in names(out, _FOLDER))
    return {name: int(match[1]) for name, match in matched if match is not None}


def _size(height: int) -> int:
    """Return the size class of a segment: merging as many as are merged makes one of the next class."""
    size = 0
    while height >= _MERGED:
        height, size = height // _MERGED, size + 1
    return size


def _read(out: Location, name: str, columns: Sequence[str]) -> pl.DataFrame | None:
    """Return the rows of a segment, none where it is damaged; ``None`` where it is not there any more."""
    try:
        content = get(out, f"{_FOLDER}/{name}")
        if content is None:
            return None
        if pl.read_parquet_metadata(io.BytesIO(content)).get("aqmlab") != _FORM:
            return _none(columns)
        if pl.read_parquet_schema(io.BytesIO(content)) != SCHEMA:
            return _none(columns)
        return pl.read_parquet(io.BytesIO(content), columns=list(columns))
    except (StoreError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        _log.debug("%s is damaged and left out: %s", out / _FOLDER / name, " ".join(str(error).split())[:80])
        return _none(columns)


def _none(columns: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(schema={name: SCHEMA[name] for name in columns})


def _write(out: Location, found: pl.DataFrame) -> None:
    content = io.BytesIO()
    found.select(SCHEMA).write_parquet(content, metadata={"aqmlab": _FORM})
    put(out, f"{_FOLDER}/{found.height}-{secrets.token_hex(8)}.parquet", content.getvalue())
