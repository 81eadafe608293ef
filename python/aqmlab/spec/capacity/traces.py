"""Files of capacities that vary: rates over time, and the delivery opportunities of Mahimahi."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aqmlab._core import SpecError
from aqmlab.spec import schema
from aqmlab.spec.capacity import rates

FILES = {
    "trace": "CSV with the columns `seconds`, `mbps`, and perhaps `delay_ms` and `loss`, or JSON with them as lists.",
    "mahimahi": "A trace of Mahimahi: the millisecond of an opportunity in each line.",
}
"""The description of ``file`` for each kind of capacity that has this key."""

PATH_COLUMNS = ("delay_ms", "loss")
"""The columns of the path behind a capacity."""

_COLUMNS = ("seconds", "mbps")
_LINES = "opportunities"


def add_keys(definitions: Mapping[str, Any]) -> None:
    """Add the key that only Python reads, the file of a trace, to a schema's definitions."""
    for kind, description in FILES.items():
        table = definitions[schema.name_of(schema.key("link.rate")["properties"][kind])]
        table["properties"]["file"] = {"type": "string", "description": description}
        table["anyOf"] = [{"required": ["file"]}, {"required": table.pop("required")}]


def read_files(rate: Any, path: str, directory: Path) -> Any:
    """Replace the files of a rate, of one direction or of both, by their content.

    Parameters
    ----------
    rate
        The value of ``link.rate``; the engine checks it.
    path
        Its path in the spec, for messages.
    directory
        The directory that relative file names refer to.

    Raises
    ------
    SpecError
        When a file cannot be read, or is not what its kind needs.
    """
    if not isinstance(rate, Mapping):
        return rate
    return {
        key: read_files(value, f"{path}.{key}", directory) if key in (rates.UP, rates.DOWN) else value
        for key, value in rate.items()
    } | {
        kind: _read(kind, rate[kind], f"{path}.{kind}.file", directory)
        for kind in FILES
        if isinstance(rate.get(kind), Mapping) and "file" in rate[kind]
    }


def only_file(table: Mapping[str, Any], path: str, directory: Path) -> Path:
    """Return the file of a table that has nothing else.

    Raises
    ------
    SpecError
        When ``file`` is no name, or the table has other keys.
    """
    if not isinstance(table["file"], str) or table.keys() != {"file"}:
        raise SpecError(f"{path}: must be the name of a file, and the only key, got {dict(table)!r}")
    return directory / table["file"]


def _read(kind: str, table: Mapping[str, Any], path: str, directory: Path) -> dict[str, Any]:
    file = only_file(table, path, directory)
    return parse(kind, read_text(file, f"{path}: {file}"), f"{path}: {file}")


def read_text(file: Path, place: str) -> str:
    """Return the text of a file.

    Raises
    ------
    SpecError
        When it cannot be read or is not text; the message begins with ``place``.
    """
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{place} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpecError(f"{place} is not text") from None


def parse(kind: str, text: str, place: str) -> dict[str, Any]:
    """Return the content of a file of a kind of capacity, checked by the engine.

    Parameters
    ----------
    kind
        A key of :data:`FILES`.
    text
        The text of the file.
    place
        The beginning of messages.

    Raises
    ------
    SpecError
        When it is not what its kind needs.
    """
    content = _READERS[kind](text, place)
    try:
        rates.mean_bps({kind: content})
    except SpecError as error:
        message = str(error).removeprefix(f"link.rate.{kind}").lstrip(".: ")
        line = re.match(rf"{_LINES}\[(\d+)\]: ", message)
        rest = f", line {int(line[1]) + 1}: {message[line.end() :]}" if line else f": {message}"
        raise SpecError(f"{place}{rest}") from None
    return content


def _lines(text: str, place: str) -> dict[str, Any]:
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip().isdecimal():
            raise SpecError(f"{place}, line {number}: must be a whole number of milliseconds, got {line!r}")
    return {_LINES: [int(line) for line in lines]}


def _table(text: str, place: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            content: dict[str, Any] = json.loads(text)
        except json.JSONDecodeError as error:
            raise SpecError(f"{place}, line {error.lineno}: is not JSON: {error.msg}") from None
        return content
    header, *rows = list(csv.reader(text.splitlines())) or [[]]
    names = [name.strip() for name in header]
    if tuple(names[:2]) != _COLUMNS or not set(names[2:]) <= set(PATH_COLUMNS) or len(set(names)) < len(names):
        raise SpecError(
            f"{place}: must have the columns {' and '.join(_COLUMNS)}, and at most {' and '.join(PATH_COLUMNS)} "
            f"behind them, got {','.join(header)!r}"
        )
    numbers = [_row(row, len(names), f"{place}, row {number}") for number, row in enumerate(rows, start=1)]
    return {name: [row[column] for row in numbers] for column, name in enumerate(names)}


def _row(row: list[str], columns: int, place: str) -> list[float]:
    try:
        numbers = [float(value) for value in row]
    except ValueError:
        raise SpecError(f"{place}: must be numbers, got {','.join(row)!r}") from None
    if len(numbers) != columns:
        raise SpecError(f"{place}: must have {columns} numbers, got {','.join(row)!r}")
    return numbers


_READERS: dict[str, Callable[[str, str], dict[str, Any]]] = {"trace": _table, "mahimahi": _lines}
