"""Parsers for untrusted TOML and JSON, with bounds on size and nesting.

Python's parsers take quadratic time and gigabytes for a long dotted key, overflow the stack for nested brackets, and
have obscure errors for numbers of many digits. Therefore nesting and digits are counted before a text is parsed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aqmlab._core import SpecError

MAX_BYTES = 4_000_000
"""The largest size of a document."""
MAX_LEVELS = 32
"""The largest depth of nested tables and lists, and of the names in a dotted key."""
_MAX_DIGITS = 400
_MAX_BITS = 64

_TOKEN = re.compile(
    # An unterminated string extends to the place where the parser refuses it: the parser never reads beyond.
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:"{3,5}|\Z)'
    r"|'''(?:[^']|'(?!''))*(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*(?:"|\n|\Z)'
    r"|'[^'\n]*(?:'|\n|\Z)"
    r"|\#[^\n]*"
    rf"|[0-9][0-9A-Za-z_]{{{_MAX_DIGITS},}}"
    r"|[\[\]{}.,\n]",
    re.DOTALL,
)

_NAMESPACE = re.compile(r"Cannot (mutate immutable namespace|declare) \((.+?),?\)( twice)?")


class ParseError(ValueError):
    """A text is not in its format; the message is one line."""


class LimitError(ParseError):
    """A text exceeds the bounds; the message is one line."""


def toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises
    ------
    LimitError
        When it exceeds the bounds.
    ParseError
        When it is not TOML.
    """
    tables: dict[str, Any] = _read(text, _toml)
    return tables


def from_json(text: str) -> Any:
    """Parse JSON; errors are those of :func:`toml`."""
    return _read(text, _json)


def read(file: Path) -> Any:
    """Parse a file: JSON if its name ends in ``.json``, otherwise TOML.

    Raises
    ------
    SpecError
        When the file cannot be read, exceeds the bounds or is not in its format; the message names the file.
    """
    name, reader = ("JSON", from_json) if file.suffix == ".json" else ("TOML", toml)
    try:
        with file.open("rb") as stream:
            # The limit also ends the reading of a device.
            content = stream.read(MAX_BYTES + 1)
        _check_size(len(content))
        # Editors on Windows begin a file with a byte-order mark.
        return reader(content.decode("utf-8-sig"))
    except OSError as error:
        raise SpecError(f"{file}: cannot be read: {error.strerror}") from None
    except LimitError as error:
        raise SpecError(f"{file}: {error}") from None
    except ValueError as error:
        raise SpecError(f"{file}: invalid {name}: {error}") from None


def _read(text: str, reader: Callable[[str], Any]) -> Any:
    _check_size(len(text))
    _check_tokens(text)
    content = reader(text)
    _check_integers(content, "")
    return content


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise LimitError(f"must have at most {MAX_BYTES:,} bytes")


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParseError(_toml_message(str(error))) from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ParseError(str(error)) from None


def _check_tokens(text: str) -> None:
    """Refuse nesting, dotted keys and numbers that exceed the bounds."""
    levels, names = [0], 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "[{":
            levels.append(levels[-1] + names + 1)
            names = 0
        elif token in "]}":
            levels, names = levels[:-1] or [0], 0
        elif token == ".":
            names += 1
        elif token in ",\n":
            names = 0
        elif token[0].isdigit():
            raise LimitError(f"{_line(text, match)}: a number must have at most {_MAX_DIGITS} digits")
        if levels[-1] + names >= MAX_LEVELS:
            raise LimitError(f"{_line(text, match)}: must have at most {MAX_LEVELS} levels of tables and lists")


def _line(text: str, match: re.Match[str]) -> str:
    return f"line {text.count(chr(10), 0, match.start()) + 1}"


def _check_integers(value: object, path: str) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            _check_integers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check_integers(item, f"{path}[{number}]")
    elif isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise LimitError(f"{path.removeprefix('.')}: a whole number must have at most {_MAX_BITS} bits")


def _toml_message(message: str) -> str:
    """Replace the terms of Python in an error by those of TOML."""
    match = _NAMESPACE.match(message)
    if match is None:
        return message
    path = ".".join(re.findall(r"'([^']*)'", match[2]))
    if match[1] == "declare":
        problem = f"the table [{path}] is given twice"
    else:
        problem = (
            f"{path}: cannot add to what is written in braces or brackets above: write all of it there, or as [tables]"
        )
    return problem + message[match.end() :]
