"""``--table FILE``: a command's table as a file: CSV, Markdown, LaTeX or Parquet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aqmlab._core import SpecError
from aqmlab.cli.output import one_line_errors, report_written
from aqmlab.ui import output_files

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".md", ".tex", ".parquet")

TableFile = Annotated[
    Path | None,
    typer.Option("--table", metavar="FILE", help="Write the table to a file: .csv, .md, .tex or .parquet."),
]

_DIGITS = 4
"""The significant digits of a number in a table for people."""

_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "→": r"$\rightarrow$"} | {
    character: f"\\{character}" for character in "&%$#_{}"
}


def check_table(file: Path | None) -> None:
    """Refuse a file that cannot be written, before hours of experiments.

    Raises
    ------
    SpecError
        When its suffix is not supported, or it cannot be written.
    """
    if file is None:
        return
    if file.suffix not in SUFFIXES:
        raise SpecError(f"--table: must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got {file}")
    try:
        output_files.check(file)
    except OSError as error:
        raise SpecError(f"--table: must be a file that can be written, got {file} ({error.strerror})") from None


def write_table(rows: pl.DataFrame, file: Path | None) -> None:
    """Write a table in the format of the file's suffix; without a file do nothing."""
    if file is None:
        return
    with one_line_errors(), output_files.opened(file) as out:
        if file.suffix == ".parquet":
            rows.write_parquet(out)
        else:
            text = {".csv": _csv, ".md": _markdown, ".tex": _latex}[file.suffix](rows)
            out.write(text.encode())
    report_written(file)


def _csv(rows: pl.DataFrame) -> str:
    return _without_nested(rows).write_csv()


def _markdown(rows: pl.DataFrame) -> str:
    lines = [rows.columns, [_rule(kind) for kind in rows.dtypes], *_texts(rows)]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _latex(rows: pl.DataFrame) -> str:
    """Return a tabular in the style of the package booktabs."""
    alignment = "".join("r" if kind.is_numeric() else "l" for kind in rows.dtypes)
    head, *body = (" & ".join(map(_escape, line)) + r" \\" for line in [rows.columns, *_texts(rows)])
    lines = [
        f"\\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)


def _rule(kind: pl.DataType) -> str:
    return "---:" if kind.is_numeric() else "---"


def _texts(rows: pl.DataFrame) -> list[list[str]]:
    return [[_text(value) for value in row] for row in _without_nested(rows).iter_rows()]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else " ".join(str(value).split())


def _without_nested(rows: pl.DataFrame) -> pl.DataFrame:
    """Convert lists and structs to JSON, because a text file has no nested values."""
    import polars as pl

    nested = [name for name, kind in rows.schema.items() if kind.is_nested()]
    return rows.with_columns(
        pl.Series(name, [None if item is None else json.dumps(item) for item in rows[name].to_list()], pl.String)
        for name in nested
    )
