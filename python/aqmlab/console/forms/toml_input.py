"""Specs and grids typed in TOML: parsing, storage, and the line of an error."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

from aqmlab.console.auth import Rejected
from aqmlab.spec import bounded_input
from aqmlab.spec.overrides import Step, steps
from aqmlab.storage import marker
from aqmlab.storage.io import write_bytes

MAX_BYTES = 100_000

FOLDER = "console"
"""The folder of a store with the stored texts; a spec's files are relative to it."""

_HEADER = re.compile(r"""\s*(\[\[?)\s*([\w.\s"'-]+?)\s*\]""")
_KEY = re.compile(r"""\s*([\w.\s"'-]+?)\s*=""")


def tables(name: str, text: str) -> dict[str, Any]:
    """Parse the field of this name.

    Raises
    ------
    Rejected
        When it is too long, or not TOML; the message has the place.
    """
    if len(text.encode()) > MAX_BYTES:
        raise Rejected(413, f"{name}: has at most {MAX_BYTES:,} bytes")
    try:
        return bounded_input.toml(text)
    except bounded_input.ParseError as error:
        raise Rejected(400, f"{name}: {error}") from None


def store_text(text: str, store: Path, kind: str) -> Path:
    """Store a text under its hash, so that the same text is the same file."""
    marker.claim(store)
    name = f"{FOLDER}/{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.toml"
    write_bytes(store, name, text.encode())
    return store / name


def line(text: str, path: str) -> int | None:
    """Return the line of a path, or of the innermost table around it; ``None`` if there is none."""
    target = steps(path)
    table: list[Step] = []
    entries: Counter[tuple[Step, ...]] = Counter()
    longest, line_number = 0, None
    for number, text_line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(text_line):
            key_path = table = _steps(header[2])
            if header[1] == "[[":
                key_path = table = [*table, entries[tuple(table)]]
                entries[tuple(table[:-1])] += 1
        elif key := _KEY.match(text_line):
            key_path = [*table, *_steps(key[1])]
        else:
            continue
        if len(key_path) > longest and key_path == target[: len(key_path)]:
            longest, line_number = len(key_path), number
    return line_number


def _steps(key: str) -> list[Step]:
    """Return the steps of a dotted key, whose dots may have spaces around them."""
    return steps(re.sub(r"\s*\.\s*", ".", key))
