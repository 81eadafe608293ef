"""Whether a cell's files are as they were written: ``metadata.json`` has the length and the checksum of each other."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

METADATA = "metadata.json"

_AT_ONCE = 1 << 20
"""Files up to so many bytes are read to be checked before they are asked for, which takes no longer than a millisecond;
of larger ones only the length."""


class StoreError(Exception):
    """A file of a results directory is damaged or cannot be written: one line that names it."""


class Damaged(StoreError):
    """A file is not what was written."""


class Written(NamedTuple):
    """What was written to a file."""

    bytes: int
    """Its length."""
    sha256: str
    """Its checksum."""


Files = Mapping[str, Written]
"""What was written to the files of a cell, by name."""


def seal(directory: Path, metadata: Mapping[str, Any]) -> None:
    """Write a cell's metadata, with what was written to each other file: the last that is done to it."""
    files = {file.name: _written(file)._asdict() for file in sorted(directory.iterdir())}
    (directory / METADATA).write_text(json.dumps({**metadata, "files": files}, indent=2) + "\n")


def read_metadata(directory: Path) -> dict[str, Any]:
    """Read a cell's metadata, or raise :class:`Damaged`."""
    file = directory / METADATA
    try:
        with _reading(file):
            metadata = json.loads(file.read_bytes())
    except ValueError:
        raise Damaged(f"{file} is damaged: it is not JSON") from None
    if not isinstance(metadata, dict):
        raise Damaged(f"{file} is damaged: it is not a JSON object")
    return metadata


def files_of(directory: Path, metadata: Mapping[str, Any]) -> Files:
    """Return what was written to the files of a cell, or raise :class:`Damaged` where the metadata does not say so."""
    try:
        return {name: Written(int(it["bytes"]), str(it["sha256"])) for name, it in metadata["files"].items()}
    except (AttributeError, LookupError, TypeError, ValueError):
        raise Damaged(f"{directory / METADATA} is damaged: it does not list the files beside it") from None


def check_all(directory: Path, files: Files) -> None:
    """Raise :class:`Damaged` when a file has another length than was written, or is small and has another checksum."""
    for name, written in files.items():
        file = directory / name
        with _reading(file):
            length = file.stat().st_size
        if length != written.bytes:
            raise Damaged(f"{file} is damaged: it has {length:,} bytes, and {written.bytes:,} were written")
        if length <= _AT_ONCE:
            check(file, written)


def check(file: Path, written: Written) -> None:
    """Raise :class:`Damaged` when a file is not, to the byte, what was written."""
    with _reading(file):
        found = _written(file)
    if found != written:
        raise Damaged(f"{file} is damaged: its checksum is not that of what was written")


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Say in one line which file cannot be written, and why."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{file}: cannot be written: {_reason(error)}") from None


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Tell a file that is not there from one that cannot be read; the first is damage."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise Damaged(f"{file} is damaged: {_reason(error).lower()}") from None
    except OSError as error:
        raise StoreError(f"{file}: cannot be read: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    """Say it as the system does: what libraries put around it is left out."""
    return os.strerror(error.errno) if error.errno else str(error)


def _written(file: Path) -> Written:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        return Written(bytes=content.tell(), sha256=digest)
