"""Cells as rows of one table: identity, measures and path."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab._core import SpecError
from aqmlab.cells import columns
from aqmlab.metrics import summary
from aqmlab.storage.errors import Damaged
from aqmlab.storage.integrity import StoredCell

_IDENTITY = pl.Schema(columns.SCHEMA)
_MEASURES = pl.Schema(summary.SCHEMA)

SUMMARY = pl.Schema([*_IDENTITY.items(), *_MEASURES.items()])
"""The columns of a cell's ``summary.parquet``."""

_STORED = pl.Schema(
    [
        ("unmet", pl.String()),
        ("valid", pl.Boolean()),
        ("path", pl.String()),
        ("bytes", pl.Int64()),
        ("created", pl.Datetime("us", "UTC")),
    ]
)

NEVER_NULL = ("label", "scheme", "signal", "users_per_side", "seed", "results", "world", "experiment")
"""The columns that every row of a cell has."""


def _flat(schema: pl.Schema, prefix: str = "") -> Iterator[tuple[str, pl.DataType]]:
    """Yield the columns of a flat table, with a column for each field of a struct; lists are left out."""
    for name, kind in schema.items():
        if isinstance(kind, pl.Struct):
            yield from _flat(pl.Schema({field.name: field.dtype for field in kind.fields}), f"{prefix}{name}_")
        elif not isinstance(kind, pl.List):
            yield f"{prefix}{name}", kind


SCHEMA = pl.Schema([("cell", pl.String()), *_IDENTITY.items(), *_flat(_MEASURES), *_STORED.items()])
"""The columns of every row, in their order."""

NO_ROWS = pl.DataFrame(schema=SCHEMA)
"""The table without rows."""


def checked_columns(columns: Sequence[str] | None) -> list[str]:
    """Return the requested columns, or all.

    Raises
    ------
    SpecError
        When a column does not exist.
    """
    for name in columns or ():
        if name not in SCHEMA:
            similar = difflib.get_close_matches(name, SCHEMA, 1)
            hint = f"; did you mean {similar[0]!r}?" if similar else f": {', '.join(SCHEMA)}"
            raise SpecError(f"columns: must be columns of a cell, got {name!r}{hint}")
    return list(SCHEMA) if columns is None else list(dict.fromkeys(columns))


def row(cell: StoredCell, file: Path) -> pl.DataFrame:
    """Return the row of a cell.

    Parameters
    ----------
    cell
        The cell, whose metadata are checked.
    file
        The local file of its summary.

    Raises
    ------
    Damaged
        When the summary is not one row, lacks an identifying column, or has values of other types.
    """
    stored = _stored_values(cell)
    try:
        measures = _flat_summary(file)
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = " ".join(str(error).split())[:100]
        raise Damaged(f"{cell.directory / 'summary.parquet'} is damaged: it is no summary ({reason})") from None
    return pl.concat(
        [NO_ROWS, measures.with_columns(pl.lit(stored[name], SCHEMA[name]).alias(name) for name in stored)],
        how="diagonal",
    )


def _flat_summary(file: Path) -> pl.DataFrame:
    """Read the columns of a row from a summary, or raise ``ValueError`` if it is not a summary."""
    content = io.BytesIO(file.read_bytes())
    schema = pl.read_parquet_schema(content)
    selected = [name for name in SUMMARY if name in schema and not isinstance(schema[name], pl.List)]
    flat = pl.read_parquet(content, columns=selected, n_rows=2)
    if flat.height != 1:
        raise ValueError("it must have one row")
    while structs := [name for name, kind in flat.schema.items() if isinstance(kind, pl.Struct)]:
        flat = flat.with_columns(pl.col(name).name.prefix_fields(f"{name}_") for name in structs).unnest(structs)
    for name, kind in flat.schema.items():
        if name in SCHEMA and kind != SCHEMA[name]:
            raise ValueError(f"{name}: must be {SCHEMA[name]}, got {kind}")
    for name in NEVER_NULL:
        if name not in flat.columns or flat[name].has_nulls():
            raise ValueError(f"{name} is missing")
    return flat.select(name for name in SCHEMA if name in flat.columns)


def _stored_values(cell: StoredCell) -> dict[str, Any]:
    checks, live = cell.metadata.get("checks"), cell.metadata.get("live")
    return {
        "cell": cell.directory.name,
        "unmet": None if checks is None else ", ".join(law for law, is_met in checks.items() if not is_met),
        "valid": None if live is None else live["valid"],
        "path": str(cell.directory),
        "bytes": cell.bytes,
        "created": datetime.fromisoformat(cell.metadata["created"]),
    }
