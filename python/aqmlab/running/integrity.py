"""Whether a cell's files are as they were written: ``metadata.json`` has the length and the checksum of each other."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from aqmlab._core import SpecError
from aqmlab.running.files.location import Location

METADATA = "metadata.json"

_AT_ONCE = 1 << 20
"""Files up to so many bytes are read to be checked before they are asked for, which takes no longer than a millisecond;
of larger ones only the length."""


class StoreError(Exception):
    """A file of a results directory is damaged or cannot be written: one line that names it."""


class Damaged(StoreError):
    """A file is not what was written."""


class Unwritable(SpecError, StoreError):
    """A results directory cannot be written to: a mistake of who named it, or what became of it under way."""


class Written(NamedTuple):
    """What was written to a file."""

    bytes: int
    """Its length."""
    sha256: str
    """Its checksum."""


Files = Mapping[str, Written]
"""What was written to the files of a cell, by name."""


class Kept(NamedTuple):
    """A cell that is there."""

    directory: Location
    metadata: Mapping[str, Any]
    files: Files
    """What was written to them, the metadata left out."""
    bytes: int
    """Of all of them."""


def seal(directory: Path, metadata: Mapping[str, Any]) -> None:
    """Write a cell's metadata, with what was written to each other file: the last that is done to it."""
    files = {file.name: _written(file)._asdict() for file in sorted(directory.iterdir())}
    (directory / METADATA).write_text(json.dumps({**metadata, "files": files}, indent=2) + "\n")


def read_metadata(directory: Location) -> dict[str, Any]:
    """Read a cell's metadata, or raise :class:`Damaged`."""
    file = directory / METADATA
    with reading(file):
        content = file.read_bytes()
    return parse_metadata(file, content)


def parse_metadata(file: Location, content: bytes) -> dict[str, Any]:
    """Read what a cell's metadata hold, or raise :class:`Damaged`."""
    try:
        metadata = json.loads(content)
    except ValueError:
        raise Damaged(f"{file} is damaged: it is not JSON") from None
    if not isinstance(metadata, dict):
        raise Damaged(f"{file} is damaged: it is not a JSON object")
    return metadata


def files_of(directory: Location, metadata: Mapping[str, Any]) -> Files:
    """Return what was written to the files of a cell, or raise :class:`Damaged` where the metadata does not say so."""
    try:
        return {name: Written(int(it["bytes"]), str(it["sha256"])) for name, it in metadata["files"].items()}
    except (AttributeError, LookupError, TypeError, ValueError):
        raise Damaged(f"{directory / METADATA} is damaged: it does not list the files beside it") from None


def check_all(directory: Path, files: Files) -> None:
    """Raise :class:`Damaged` when a file has another length than was written, or is small and has another checksum."""
    for name, written in files.items():
        file = directory / name
        with reading(file):
            length = file.stat().st_size
        check_length(file, length, written)
        if length <= _AT_ONCE:
            check(file, written)


def check_length(file: Location, length: int, written: Written) -> None:
    """Raise :class:`Damaged` when a file has another length than was written."""
    if length != written.bytes:
        raise Damaged(f"{file} is damaged: it has {length:,} bytes, and {written.bytes:,} were written")


def check(file: Path, written: Written, *, of: Location | None = None) -> None:
    """Raise :class:`Damaged` when a file, or a copy of one, is not, to the byte, what was written."""
    with reading(file):
        found = _written(file)
    if found != written:
        raise Damaged(f"{of or file} is damaged: its checksum is not that of what was written")


@contextmanager
def writing(file: Location) -> Iterator[None]:
    """Say in one line which file cannot be written, and why."""
    try:
        yield
    except StoreError:
        raise
    except _errors(file) as error:
        raise StoreError(f"{file}: cannot be written: {_reason(file, error)}") from None


@contextmanager
def reading(file: Location) -> Iterator[None]:
    """Tell a file that is not there from one that cannot be read; the first is damage."""
    try:
        yield
    except StoreError:
        raise
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise Damaged(f"{file} is damaged: {_reason(file, error).lower()}") from None
    except _errors(file) as error:
        raise StoreError(f"{file}: cannot be read: {_reason(file, error)}") from None


def _errors(file: Location) -> type[Exception]:
    """Return what goes wrong with a file: elsewhere every service has errors of its own."""
    return OSError if isinstance(file, Path) else Exception


def _reason(file: Location, error: Exception) -> str:
    """Say it as the system does, and elsewhere as the service does: what libraries put around it is left out."""
    if isinstance(error, OSError) and error.errno and isinstance(file, Path):
        return os.strerror(error.errno)
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())


def _written(file: Path) -> Written:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        return Written(bytes=content.tell(), sha256=digest)
