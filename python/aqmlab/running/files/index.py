"""The index of a store: the summaries of its cells in one file, ``results/cells.parquet``.

A cell never changes, so what the index says of it stays true for as long as the cell is there.
"""

from __future__ import annotations

import io
import logging

import polars as pl

from aqmlab.running.files.content import get, put
from aqmlab.running.files.errors import StoreError
from aqmlab.running.files.location import Location

_log = logging.getLogger("aqmlab")

_FORM = 3
"""Another number makes earlier indexes worthless: raised with what stands in a row."""


NAME = "cells.parquet"


def read(out: Location) -> pl.DataFrame | None:
    """Return the rows of an index; ``None`` where there is none, or one that is damaged or of another form."""
    try:
        content = get(out, NAME)
        if content is None or pl.read_parquet_metadata(io.BytesIO(content)).get("aqmlab") != f"index {_FORM}":
            return None
        return pl.read_parquet(io.BytesIO(content))
    except (StoreError, pl.exceptions.PolarsError) as error:
        _log.warning("%s is damaged and left out: %s", out / NAME, " ".join(str(error).split())[:80])
        return None


def write(out: Location, rows: pl.DataFrame) -> None:
    """Write an index: whole, or not at all.

    Raises
    ------
    StoreError
        When it cannot be written.
    """
    content = io.BytesIO()
    rows.write_parquet(content, metadata={"aqmlab": f"index {_FORM}"})
    put(out, NAME, content.getvalue())
