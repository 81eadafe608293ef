"""Sources of traffic in a spec, and the files from which they are read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab._core import Resolved, SpecError
from aqmlab.spec import schema

if TYPE_CHECKING:
    import polars as pl

_REQUIRED = ("start_seconds", "side", "request_bytes", "response_bytes")
_OPTIONAL = ("rtt_ms",)

FILES = {
    "trace": f"CSV or Parquet with the columns {', '.join((*_REQUIRED, *_OPTIONAL))}; the last is optional.",
    "pair_trace": "A file with the `text`.",
    "tmix": "A file with the `text`.",
    "video": (
        "A manifest as JSON in the form of Sabre, with `segment_duration_ms`, `bitrates_kbps` and"
        " `segment_sizes_bits`: `segment`, `ladder` and `sizes`."
    ),
}
"""The description of ``file`` for each kind of source that has this key."""


def add_keys(definitions: Mapping[str, Any]) -> None:
    """Add the keys that only Python reads, the files of sources, to a schema's definitions."""
    for form in definitions["Source"]["oneOf"]:
        ((kind, reference),) = form["properties"].items()
        if kind in FILES:
            table = definitions[schema.name_of(reference)]
            table["properties"]["file"] = {"type": "string", "description": FILES[kind]}
            file_columns = [key for key in table["required"] if key in ("text", *_REQUIRED)]
            table["required"] = [key for key in table["required"] if key not in file_columns]
            if file_columns:
                table["anyOf"] = [{"required": ["file"]}, {"required": file_columns}]


def read_files(source: Mapping[str, Any], path: str, directory: Path) -> dict[str, Any]:
    """Replace a source's ``file`` by its content; a source without a file is returned unchanged.

    Parameters
    ----------
    source
        A table of exactly one kind of source, such as ``{"trace": {"file": "transfers.csv"}}``.
    path
        The path in the spec, for messages: ``sources[0]``.
    directory
        The directory that relative file names refer to.

    Raises
    ------
    SpecError
        When the file cannot be read, or lacks what its kind needs.
    """
    if len(source) != 1:
        raise SpecError(f"{path}: must be a table of exactly one kind of source, such as [sources.bulk]")
    ((kind, parameters),) = source.items()
    if not isinstance(parameters, Mapping) or "file" not in parameters:
        return dict(source)
    path = f"{path}.{kind}.file"
    if kind not in _READERS:
        raise SpecError(f"{path}: only {', '.join(_READERS)} are read from a file, not {kind}")
    if not isinstance(parameters["file"], str):
        raise SpecError(f"{path}: must be the name of a file, got {parameters['file']!r}")
    file = directory / parameters["file"]
    others = {key: value for key, value in parameters.items() if key != "file"}
    content = _READERS[kind](file, path)
    if twice := [key for key in content if key in others]:
        raise SpecError(f"{path}: {file} has {', '.join(twice)}, which must be absent from the spec")
    source_read = {kind: {**content, **others}}
    _check_rows(source_read, f"{path}: {file}")
    return source_read


def _columns(file: Path, path: str) -> dict[str, list[Any]]:
    """Read transfers from CSV or Parquet, one per row."""
    # Few specs have such a file, and polars takes as long to import as all else that a spec needs.
    import polars as pl

    readers: dict[str, Callable[[Path], pl.DataFrame]] = {".csv": pl.read_csv, ".parquet": pl.read_parquet}
    if file.suffix not in readers:
        raise SpecError(f"{path}: must end in {' or '.join(readers)}, got {file}")
    try:
        table = readers[file.suffix](file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SpecError(f"{path}: {file} cannot be read: {_first_line(error)}") from None
    if missing := [name for name in _REQUIRED if name not in table.columns]:
        raise SpecError(f"{path}: {file} must have the columns {', '.join(_REQUIRED)}; it lacks {', '.join(missing)}")
    if unknown := [name for name in table.columns if name not in (*_REQUIRED, *_OPTIONAL)]:
        raise SpecError(
            f"{path}: {file} has a column {unknown[0]!r}; besides {', '.join(_REQUIRED)} it may have rtt_ms"
        )
    if table.is_empty():
        raise SpecError(f"{path}: {file} must have at least one row, got only a header")
    for column in table:
        _check_column(column, f"{path}: {file}")
    return table.to_dict(as_series=False)


def _check_column(column: pl.Series, path: str) -> None:
    """Refuse a column with a missing number, naming its first row; rows count from 1, without the header."""
    is_text = str(column.dtype) == "String"
    if not (column.dtype.is_numeric() or is_text):
        raise SpecError(f"{path}: the column {column.name} must hold numbers, got {column.dtype}")
    for row, value in enumerate(column, start=1):
        if value is None:
            raise SpecError(f"{path}, row {row}: {column.name} must have a value")
        if isinstance(value, str) and not _is_number(value):
            raise SpecError(f"{path}, row {row}: {column.name} must be a number, got {value!r}")
    if is_text:
        raise SpecError(f"{path}: the column {column.name} must hold numbers, got text")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_rows(source: Mapping[str, Any], path: str) -> None:
    """Check the rows or lines of a file by the engine, and name the file in its errors.

    Other mistakes of the source are reported with the whole spec.
    """
    try:
        Resolved(json.dumps({"users": {"per_side": 0}, "sources": [source]}))
    except SpecError as error:
        if match := _IN_FILE.match(str(error)):
            position = f"line {match['line']}" if match["line"] else f"row {int(match['row']) + 1}: {match['column']}"
            raise SpecError(f"{path}, {position}: {match['fault']}") from None


_IN_FILE = re.compile(
    r"sources\[0\]\.\w+\.(text, line (?P<line>\d+)|(?P<column>\w+)\[(?P<row>\d+)\]): (?P<fault>.*)", re.DOTALL
)
"""The pattern of the engine's errors about a line of a text or a row of a column."""


def _text(file: Path, path: str) -> dict[str, str]:
    try:
        return {"text": file.read_text(encoding="utf-8")}
    except OSError as error:
        raise SpecError(f"{path}: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}: {file} is not text") from None


def _manifest(file: Path, path: str) -> dict[str, Any]:
    """Read a video's manifest in the form of Sabre: the length of a segment, rates, and sizes."""
    try:
        manifest = json.loads(_text(file, path)["text"])
        sizes = [[math.ceil(bits / 8) for bits in segment] for segment in manifest["segment_sizes_bits"]]
        return {
            "segment": f"{float(manifest['segment_duration_ms'])} ms",
            "ladder": [f"{float(rate)} kbit/s" for rate in manifest["bitrates_kbps"]],
            "sizes": sizes,
        }
    except ValueError as error:
        raise SpecError(f"{path}: {file} is not JSON of numbers: {_first_line(error)}") from None
    except KeyError as error:
        raise SpecError(f"{path}: {file} lacks {error.args[0]}") from None
    except (TypeError, OverflowError, RecursionError):
        raise SpecError(
            f"{path}: {file} must have a number segment_duration_ms, a list bitrates_kbps"
            " and a list of lists segment_sizes_bits"
        ) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


_READERS: dict[str, Callable[[Path, str], dict[str, Any]]] = {
    "trace": _columns,
    "pair_trace": _text,
    "tmix": _text,
    "video": _manifest,
}
