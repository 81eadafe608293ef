"""The columns of a summary, the same in every cell: a number that there is nothing to measure for is null.

The engine declares them, each with what it means, in ``crates/sim/src/summary.rs``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import json as arrow_json

from aqmlab._core import schemas

_SCALARS = {"integer": pa.int64(), "number": pa.float64(), "string": pa.string()}


def _arrow(part: Mapping[str, Any], defs: Mapping[str, Any]) -> pa.DataType:
    """Return the type of what a JSON Schema describes."""
    for each in (part, *part.get("anyOf", ())):
        if "$ref" in each:
            return _arrow(defs[each["$ref"].rpartition("/")[2]], defs)
    if "properties" in part:
        return pa.struct([(name, _arrow(each, defs)) for name, each in part["properties"].items()])
    if "items" in part:
        return pa.list_(_arrow(part["items"], defs))
    kinds = part["type"]
    (kind,) = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return _SCALARS[kind]


def _columns() -> pa.Schema:
    declared = json.loads(schemas())["summary"]
    return pa.schema(list(_arrow(declared, declared["$defs"])))


SCHEMA = _columns()
"""Names and types, in their order."""


def as_row(record: str, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Return a summary, or another JSON object, as a table of one row; a column that it does not have is null.

    ``RecordBatch.from_pylist`` would do, but imports pandas where that is installed: for longer than a short run takes.

    Raises
    ------
    pyarrow.ArrowInvalid
        When it has one that ``schema`` does not have, or a value of another type.
    """
    text = record.encode()
    table = arrow_json.read_json(
        pa.BufferReader(text),
        # A row is read from one block.
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=arrow_json.ParseOptions(
            explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior="error"
        ),
    )
    (row,) = table.to_batches()
    return row
