"""Concatenation of one table of many cells into one lazy frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from aqmlab.storage.errors import Damaged
from aqmlab.storage.integrity import StoredCell


def scan(
    cells: Iterable[tuple[StoredCell, Path]], known: Mapping[str, pl.DataType]
) -> tuple[pl.LazyFrame | None, list[Damaged]]:
    """Concatenate tables, with a column ``cell``; a column is null for cells whose table does not have it.

    Parameters
    ----------
    cells
        Cells, each with the file of its table.
    known
        The types of declared columns. Any other column has the type that most tables give it.

    Returns
    -------
    tuple
        The frame, ``None`` if no table can be read; and the damage of the tables that are left out.
    """
    tables, damages = [], []
    for cell, file in cells:
        try:
            tables.append((cell, file, pl.read_parquet_schema(file)))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = " ".join(str(error).split())[:100]
            damages.append(Damaged(f"{cell.directory / file.name} is damaged: it is not Parquet ({reason})"))
    families, frames = _usual_families(schema for _, _, schema in tables), []
    families |= {name: _family(kind) for name, kind in known.items()}
    for cell, file, schema in tables:
        # A text column among numbers would turn all of them into text.
        if unusual := [name for name, kind in schema.items() if _family(kind) != families[name]]:
            kind = schema[unusual[0]]
            damages.append(Damaged(f"{cell.directory / file.name} is damaged: {unusual[0]}: is {kind} there alone"))
        else:
            frames.append(pl.scan_parquet(file).with_columns(cell=pl.lit(cell.directory.name)))
    return pl.concat(frames, how="diagonal_relaxed") if frames else None, damages


def _usual_families(schemas: Iterable[Mapping[str, pl.DataType]]) -> dict[str, object]:
    """Return the family of types that most tables have for each column."""
    counts: dict[str, Counter[object]] = {}
    for schema in schemas:
        for name, kind in schema.items():
            counts.setdefault(name, Counter())[_family(kind)] += 1
    return {name: counter.most_common(1)[0][0] for name, counter in counts.items()}


def _family(kind: pl.DataType) -> object:
    """Return the family of a type: types of one family can be concatenated."""
    return "number" if kind.is_numeric() else kind.base_type()
