"""Specs and grids typed in TOML: parsing, storage, and the line of an error."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

from aqmlab.console.auth import Refused
from aqmlab.spec import bounded_input
from aqmlab.spec.overrides import Step, steps
from aqmlab.storage import marker
from aqmlab.storage.io import write_bytes

MAX_BYTES = 100_000

_HEADER = re.compile(r"""\s*(\[\[?)\s*([\w.\s"'-]+?)\s*\]""")
_KEY = re.compile(r"""\s*([\w."'-]+)\s*=""")


def tables(name: str, text: str) -> dict[str, Any]:
    """Parse the field of this name.

    Raises
    ------
    Refused
        When it is too long, or not TOML; the message has the place.
    """
    if len(text.encode()) > MAX_BYTES:
        raise Refused(413, f"{name}: has at most {MAX_BYTES:,} bytes")
    try:
        return bounded_input.toml(text)
    except bounded_input.ParseError as error:
        raise Refused(400, f"{name}: {error}") from None


def store_text(text: str, store: Path, kind: str) -> Path:
    """Store a text under its hash, so that the same text is the same file."""
    marker.claim(store)
    name = f"console/{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.toml"
    write_bytes(store, name, text.encode())
    return store / name


def line(text: str, path: str) -> int | None:
    """Return the line of a path, or of the innermost table around it; ``None`` if there is none."""
    wanted = steps(path)
    table: list[Step] = []
    entries: Counter[tuple[Step, ...]] = Counter()
    farthest, found = 0, None
    for number, written in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(written):
            at = table = steps(header[2])
            if header[1] == "[[":
                at = table = [*table, entries[tuple(table)]]
                entries[tuple(table[:-1])] += 1
        elif key := _KEY.match(written):
            at = [*table, *steps(key[1])]
        else:
            continue
        if len(at) > farthest and at == wanted[: len(at)]:
            farthest, found = len(at), number
    return found
