"""Results that were made up, for tests of what reads them: their columns and types are those that the engine writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from aqmlab import _core
from aqmlab.running.summary import SCHEMA

_SCHEMAS = json.loads(_core.schemas())

_TYPES: dict[str, pl.DataType] = {
    "uint8": pl.UInt8(),
    "uint16": pl.UInt16(),
    "uint32": pl.UInt32(),
    "uint64": pl.UInt64(),
    "double": pl.Float64(),
}


def resolved(**parts: Any) -> _core.Resolved:
    """Return the resolved spec of an experiment with these parts, and one user where they say nothing of users."""
    return _core.Resolved(json.dumps({"users": {"per_side": 1}, **parts}))


def write(directory: Path, *, summary: Mapping[str, Any] | None = None, **tables: pl.DataFrame) -> Path:
    """Write tables of a cell, as :func:`summary_of` and :func:`table` make them."""
    directory.mkdir(parents=True, exist_ok=True)
    if summary is not None:
        summary_of(summary).write_parquet(directory / "summary.parquet")
    for name, frame in tables.items():
        table(name, frame).write_parquet(directory / f"{name}.parquet")
    return directory


def table(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Give a table the engine's types; what is left out of it is null, so that no test reads it by mistake.

    The queue may have variables of a law besides; links have a number where they are in series.
    """
    columns = {column: _type(of.get("items", of)) for column, of in _SCHEMAS[name]["properties"].items()}
    variables = columns.pop("variables", None)
    unknown = [column for column in frame.columns if column not in columns]
    assert not unknown or variables is not None, f"the engine's table {name} has no {unknown}"
    left_out = [column for column in columns if column not in (*frame.columns, "link")]
    return frame.with_columns(pl.lit(None).alias(column) for column in left_out).cast(
        {column: kind for column, kind in columns.items() if column in (*frame.columns, *left_out)}
    )


def summary_of(row: Mapping[str, Any]) -> pl.DataFrame:
    """Return a summary of one row, null in all that is left out."""
    unknown = [name for name in row if name not in SCHEMA.names]
    unknown += [path for name in row if name in SCHEMA.names for path in _unknown(row[name], SCHEMA.field(name).type)]
    assert not unknown, f"no summary has {unknown}"
    made = pl.from_arrow(pa.RecordBatch.from_pylist([dict(row)], schema=SCHEMA))
    assert isinstance(made, pl.DataFrame)
    return made


def _type(of: Mapping[str, Any]) -> pl.DataType:
    return _TYPES[of["format"]] if "format" in of else pl.Boolean()


def _unknown(value: Any, kind: pa.DataType) -> Iterator[str]:
    """Yield the names in nested objects that their types do not have."""
    if isinstance(value, Mapping) and pa.types.is_struct(kind):
        for name, inner in value.items():
            if kind.get_field_index(name) < 0:
                yield name
            else:
                yield from _unknown(inner, kind.field(name).type)
    elif isinstance(value, list):
        for each in value:
            yield from _unknown(each, kind.value_type)
