"""The columns of a summary, the same in every cell; a number without an observation is null.

The engine declares them with their meanings in ``crates/sim/src/summary.rs``.
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
    """Return the Arrow type of a JSON Schema."""
    for variant in (part, *part.get("anyOf", ())):
        if "$ref" in variant:
            return _arrow(defs[variant["$ref"].rpartition("/")[2]], defs)
    if "properties" in part:
        return pa.struct([(name, _arrow(variant, defs)) for name, variant in part["properties"].items()])
    if "items" in part:
        return pa.list_(_arrow(part["items"], defs))
    kinds = part["type"]
    (kind,) = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return _SCALARS[kind]


def _columns() -> pa.Schema:
    declared = json.loads(schemas())["summary"]
    return pa.schema(list(_arrow(declared, declared["$defs"])))


SCHEMA = _columns()
"""The names and types of the columns, in their order."""


def as_row(record: str, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Return a summary, or another JSON object, as a table of one row; absent columns are null.

    ``RecordBatch.from_pylist`` would import pandas where it is installed, which takes longer than a short run.

    Raises
    ------
    pyarrow.ArrowInvalid
        When it has a column that ``schema`` lacks, or a value of another type.
    """
    text = record.encode()
    table = arrow_json.read_json(
        pa.BufferReader(text),
        # One block must hold the whole row.
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=arrow_json.ParseOptions(
            explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior="error"
        ),
    )
    (row,) = table.to_batches()
    return row
