"""Which cells of a store a command is about, and which of their columns: ``--where`` and ``--columns``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab._core import SpecError

if TYPE_CHECKING:
    import polars as pl

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Those whose column is, or is not, or is below or above a value: rate_mbps>=50, congestion=bbr,"
        " link.rate!=20 Mbit/s. A name with a point is a path of the spec. May be repeated.",
    ),
]

_CONDITION = re.compile(r"\s*(?P<name>[\w.\[\]-]+)\s*(?P<relation><=|>=|!=|=|<|>)\s*(?P<value>.*?)\s*", re.DOTALL)


def where(cells: pl.DataFrame, conditions: Sequence[str]) -> pl.DataFrame:
    """Return the cells that meet all conditions.

    Raises
    ------
    SpecError
        When a condition is not of the form ``NAME=VALUE``, or no cell has what it names.
    """
    for text in conditions:
        cells = cells.filter(_meets(cells, text))
    return cells


def columns(cells: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return these columns of the cells, or of their specs.

    Raises
    ------
    SpecError
        When no cell has one of a name.
    """
    return cells.select(named(cells, name, "--columns").alias(name) for name in dict.fromkeys(names))


def named(cells: pl.DataFrame, name: str, option: str) -> pl.Expr:
    """Return the column of a name: one of the cells', or a path of the spec, as text."""
    import polars as pl

    from aqmlab.disciplines.catalogue import nearest

    if name in cells.columns:
        return pl.col(name)
    if "." not in name:
        listed = ", ".join(cells.columns)
        raise SpecError(f"{option}: no column {name!r}{nearest(name, cells.columns)}; columns are {listed}")
    path = pl.col("spec").str.json_path_match(f"$.{name}")
    if not cells.is_empty() and cells.select(path.is_null().all()).item():
        raise SpecError(f"{option}: the spec of no cell has {name}")
    return path


def _meets(cells: pl.DataFrame, text: str) -> pl.Expr:
    import polars as pl

    condition = _CONDITION.fullmatch(text)
    if condition is None:
        raise SpecError(f"--where: write NAME=VALUE, or with !=, <, <=, > or >=, got {text!r}")
    name, relation, value = condition.group("name", "relation", "value")
    column = named(cells, name, "--where")
    dtype = cells.select(column).to_series().dtype
    wanted: float | str | bool = value
    if dtype.is_numeric():
        try:
            wanted = float(value)
        except ValueError:
            raise SpecError(f"--where: {name} must be compared with a number, got {value!r}") from None
    elif dtype == pl.Boolean:
        if value not in ("true", "false"):
            raise SpecError(f"--where: {name} must be compared with true or false, got {value!r}")
        wanted = value == "true"
    elif dtype != pl.String and cells.height:
        raise SpecError(f"--where: {name} is neither text nor a number")
    if relation not in ("=", "!=") and not isinstance(wanted, float):
        raise SpecError(f"--where: {name} is no number: compare it with = or !=")
    match relation:
        case "=":
            return column.eq_missing(wanted)
        case "!=":
            return column.ne_missing(wanted)
        case "<":
            return column < wanted
        case "<=":
            return column <= wanted
        case ">":
            return column > wanted
        case _:
            return column >= wanted
