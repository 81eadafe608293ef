"""The index of a store: the summaries of its cells in one file, ``results/cells.parquet``.

A cell never changes, so what the index says of it stays true for as long as the cell is there.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import polars as pl

from aqmlab.running.integrity import writing

_log = logging.getLogger("aqmlab")

_FORM = 1
"""Another number makes earlier indexes worthless: raised with what stands in a row."""


def read(file: Path) -> pl.DataFrame | None:
    """Return the rows of an index; ``None`` where there is none, or one that is damaged or of another form."""
    try:
        if pl.read_parquet_metadata(file).get("aqmlab") != f"index {_FORM}":
            return None
        return pl.read_parquet(file)
    except FileNotFoundError:
        return None
    except (OSError, pl.exceptions.PolarsError) as error:
        _log.warning("%s is damaged and left out: %s", file, " ".join(str(error).split())[:80])
        return None


def write(file: Path, rows: pl.DataFrame) -> None:
    """Write an index: whole, or not at all.

    Raises
    ------
    StoreError
        When it cannot be written.
    """
    draft = file.with_suffix(f".{os.getpid()}")
    try:
        with writing(file):
            rows.write_parquet(draft, metadata={"aqmlab": f"index {_FORM}"})
            draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
