"""One row of a table that stands as JSON, read by Arrow.

``RecordBatch.from_pylist`` would do, but imports pandas where that is installed: for longer than a short run takes.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import json


def one_row(record: str, schema: pa.Schema) -> pa.RecordBatch:
    """Return a JSON object as a row of ``schema``; a column that it does not have is null.

    Raises
    ------
    pyarrow.ArrowInvalid
        When it has one that ``schema`` does not have, or a value of another type.
    """
    table = json.read_json(
        pa.BufferReader(record.encode()),
        read_options=json.ReadOptions(use_threads=False),
        parse_options=json.ParseOptions(
            explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior="error"
        ),
    )
    (row,) = table.to_batches()
    return row
