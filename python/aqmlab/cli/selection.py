"""Selection of cells of a store and of their columns: ``--where``, ``--columns``, and arguments that name cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.store.result import Result

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Select cells by a column with =, !=, <, <=, > or >=: rate_mbps>=50, congestion=bbr,"
        " link.rate!=20 Mbit/s. A name with a dot is a path of the spec. May be repeated.",
    ),
]

_CONDITION = re.compile(r"\s*(?P<name>[\w.\[\]-]+)\s*(?P<relation><=|>=|!=|=|<|>)\s*(?P<value>.*?)\s*", re.DOTALL)


def filter_cells(cells: pl.DataFrame, conditions: Sequence[str]) -> pl.DataFrame:
    """Return the cells that meet all conditions.

    Raises
    ------
    SpecError
        When a condition has not the form ``NAME=VALUE``, or no cell has the column or path.
    """
    for text in conditions:
        cells = cells.filter(_satisfies(cells, text))
    return cells


def tagged(cells: pl.DataFrame, tag: str, out: str) -> pl.DataFrame:
    """Return the cells that have a tag, or whose experiment has it.

    Raises
    ------
    SpecError
        When nothing in the results directory has the tag.
    """
    import polars as pl

    from aqmlab.store.annotations import Annotations
    from aqmlab.store.store import Store

    annotations = Annotations(Store(out).out).load()
    subjects = [subject for subject, annotation in annotations.items() if tag in annotation.tags]
    if not subjects:
        raise SpecError(f"--tag: nothing in {out} has the tag {tag!r}; aqmlab tag lists tags")
    return cells.filter(pl.col("cell").is_in(subjects) | pl.col("experiment").is_in(subjects))


def columns(cells: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return these columns of the cells, or of their specs.

    Raises
    ------
    SpecError
        When no cell has a column or path.
    """
    return cells.select(column_expression(cells, name, "--columns").alias(name) for name in dict.fromkeys(names))


def column_expression(cells: pl.DataFrame, name: str, option: str) -> pl.Expr:
    """Return the column of a name: one of the cells', or a path of the spec, as text."""
    import polars as pl

    from aqmlab.disciplines.catalogue import nearest

    if name in cells.columns:
        return pl.col(name)
    if "." not in name:
        names = ", ".join(cells.columns)
        raise SpecError(f"{option}: no column {name!r}{nearest(name, cells.columns)}; columns are {names}")
    path = pl.col("spec").str.json_path_match(f"$.{name}")
    if not cells.is_empty() and cells.select(path.is_null().all()).item():
        raise SpecError(f"{option}: the spec of no cell has {name}")
    return path


def results(text: str, out: str) -> list[Result]:
    """Return the results that an argument names: a cell, all of a results directory, or those that meet a condition.

    Parameters
    ----------
    text
        A results directory, a cell's directory, a prefix of a key, or a condition as for :func:`filter_cells`.
    out
        The results directory of prefixes and conditions.

    Raises
    ------
    SpecError
        When there is no such cell, or several have the prefix.
    """
    from aqmlab.cli.cells import stored_cells
    from aqmlab.store.store import Store

    if not text:
        raise SpecError("CELL: write a cell, a results directory or a condition such as results=41, got an empty text")
    directory, key = Path(text), ""
    if "://" in text or Path(directory, "cells").is_dir():
        out, cells = text, stored_cells(text, ["cell"])
    elif directory.parent.name == "cells":
        out, key = str(directory.parent.parent), directory.name
        cells = stored_cells(out, ["cell"])
    elif _CONDITION.fullmatch(text):
        cells = filter_cells(stored_cells(out), [text])
    else:
        key, cells = text, stored_cells(out, ["cell"])
    keys = [str(cell) for cell in cells["cell"] if cell.startswith(key)]
    if key and len(keys) > 1:
        raise SpecError(f"CELL: {key} is the prefix of {len(keys)} cells of {out}; write more of the key")
    if not keys:
        raise SpecError(f"CELL: {out} has no cell {text}; aqmlab ls lists cells")
    store = Store(out)
    return [result for key in keys if (result := store.get_by_key(key)) is not None]


def _satisfies(cells: pl.DataFrame, text: str) -> pl.Expr:
    import polars as pl

    condition = _CONDITION.fullmatch(text)
    if condition is None:
        raise SpecError(f"--where: write NAME=VALUE, or with !=, <, <=, > or >=, got {text!r}")
    name, relation, value = condition.group("name", "relation", "value")
    column = column_expression(cells, name, "--where")
    dtype = cells.select(column).to_series().dtype
    operand: float | str | bool = value
    if dtype.is_numeric():
        try:
            operand = float(value)
        except ValueError:
            raise SpecError(f"--where: {name} must be compared with a number, got {value!r}") from None
    elif dtype == pl.Boolean:
        if value not in ("true", "false"):
            raise SpecError(f"--where: {name} must be compared with true or false, got {value!r}")
        operand = value == "true"
    elif dtype != pl.String and cells.height:
        raise SpecError(f"--where: {name} is neither text nor a number")
    if relation not in ("=", "!=") and not isinstance(operand, float):
        raise SpecError(f"--where: {name} is no number: compare it with = or !=")
    match relation:
        case "=":
            return column.eq_missing(operand)
        case "!=":
            return column.ne_missing(operand)
        case "<":
            return column < operand
        case "<=":
            return column <= operand
        case ">":
            return column > operand
        case _:
            return column >= operand
