"""Integrity of a cell's files: ``metadata.json`` has the length and the checksum of every other file.

A store may come from an untrusted source: only regular files are opened, and names lead to no other directory.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from aqmlab.storage.errors import Damaged, StoreError
from aqmlab.storage.location import Location

METADATA = "metadata.json"

MAX_METADATA_BYTES = 1 << 20
"""Longer metadata are damaged: a cell's metadata have a few thousand bytes."""

_MAX_CHECKED_BYTES = 1 << 20
"""The checksum of files up to this size is checked when the cell is opened, in less than a millisecond each.

Of larger files only the length is checked until they are read.
"""

_CHECKSUM = "sha256"
"""The last entry of the metadata: the checksum of the entries before it."""


class FileDigest(NamedTuple):
    """The length and the checksum of a file as it was written."""

    bytes: int
    """Its length."""
    sha256: str
    """Its checksum."""


_CHECKED_FILES: set[tuple[int, int, int, int, FileDigest]] = set()
"""Files that this process has verified: device, inode, length and modification time."""

_TICK_NS = 2_000_000_000
"""The coarsest clock of a file system: two seconds."""

Files = Mapping[str, FileDigest]
"""The digests of a cell's files, by name."""


class StoredCell(NamedTuple):
    """A cell that exists in the store."""

    directory: Location
    metadata: Mapping[str, Any]
    files: Files
    """The digests of all files except the metadata."""
    bytes: int
    """The total length of all files."""


def finalize(directory: Path, metadata: Mapping[str, Any]) -> None:
    """Write a cell's metadata, with the digest of every other file. This completes the cell."""
    files = {file.name: _digest_of(file)._asdict() for file in sorted(directory.iterdir())}
    content = {**metadata, "files": files}
    text = json.dumps({**content, _CHECKSUM: _checksum(content)}, indent=2) + "\n"
    (directory / METADATA).write_text(text)


def read_metadata(directory: Location) -> dict[str, Any]:
    """Read a cell's metadata, or raise :class:`Damaged`."""
    file = directory / METADATA
    if isinstance(file, Path):
        content = read_whole(file, MAX_METADATA_BYTES)
    else:
        with reading(file):
            content = file.read_bytes()
    return parse_metadata(file, content)


def parse_metadata(file: Location, content: bytes) -> dict[str, Any]:
    """Parse a cell's metadata, or raise :class:`Damaged` where :func:`finalize` cannot have written them."""
    try:
        metadata = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Damaged(f"{file} is damaged: it is not JSON") from None
    if not isinstance(metadata, dict):
        raise Damaged(f"{file} is damaged: it is not a JSON object")
    checksum = metadata.pop(_CHECKSUM, None)
    try:
        _Metadata.model_validate(metadata)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))[:80]
        raise Damaged(f"{file} is damaged: {path}: {first['msg']}") from None
    if checksum != _checksum(metadata):
        raise Damaged(f"{file} is damaged: its checksum is not that of what was written")
    return metadata


def files_of(metadata: Mapping[str, Any]) -> Files:
    """Return the digests of a cell's files."""
    return {name: FileDigest(entry["bytes"], entry["sha256"]) for name, entry in metadata["files"].items()}


def _checksum(metadata: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(metadata).encode()).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _check_timestamp(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("must have a time zone")
    return text


_NAME = re.compile(r"\w[\w.-]{0,100}")
_Name = Annotated[str, Field(pattern=rf"^{_NAME.pattern}$")]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _FileEntry(_Model):
    bytes: Annotated[int, Field(ge=0, lt=2**63)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Live(_Model):
    valid: bool
    invalid_reasons: list[str]
    router_lateness_ms_p99: _Seconds


class _Metadata(_Model):
    """The metadata that readers use; other entries are allowed."""

    seed: Annotated[int, Field(ge=0, lt=2**64)]
    simulated_s: _Seconds
    wall_s: Annotated[_Seconds, Field(gt=0)]
    cpu_s: _Seconds
    results: int
    engine: str
    commit: str | None
    python: str
    machine: str
    created: Annotated[str, AfterValidator(_check_timestamp)]
    checks: dict[str, bool] = {}
    live: _Live | None = None
    files: dict[_Name, _FileEntry]


def check_all(directory: Path, files: Files) -> int:
    """Check the files of a cell, small ones by their checksum and others by their length; return the total length.

    Raises
    ------
    Damaged
        When a file has a wrong length, or is small and has a wrong checksum.
    """
    for name, digest in files.items():
        file = directory / name
        with open_checked(file) as content:
            length = os.fstat(content.fileno()).st_size
            check_length(file, length, digest)
            if length <= _MAX_CHECKED_BYTES:
                _check_content(file, content, digest)
    with reading(directory / METADATA):
        return (directory / METADATA).lstat().st_size + sum(digest.bytes for digest in files.values())


def check_length(file: Location, length: int, digest: FileDigest) -> None:
    """Raise :class:`Damaged` when a file has a wrong length."""
    if length != digest.bytes:
        raise Damaged(f"{file} is damaged: it has {length:,} bytes, and {digest.bytes:,} were written")


def check(file: Path, digest: FileDigest, *, name: Location | None = None) -> None:
    """Raise :class:`Damaged` when the checksum of a file, or of its copy, is wrong.

    A process checks a file once, and again after the file has changed.
    """
    with open_checked(file) as content:
        _check_content(name or file, content, digest)


def _check_content(file: Location, content: BufferedReader, digest: FileDigest) -> None:
    status = os.fstat(content.fileno())
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, digest)
    if identity in _CHECKED_FILES:
        return
    actual = FileDigest(sha256=hashlib.file_digest(content, "sha256").hexdigest(), bytes=content.tell())
    if actual != digest:
        raise Damaged(f"{file} is damaged: its checksum is not that of what was written")
    # Two changes within a tick of the file system's clock have the same modification time.
    if time.time_ns() - status.st_mtime_ns > _TICK_NS:
        _CHECKED_FILES.add(identity)


def read_whole(file: Path, max_bytes: int) -> bytes:
    """Read a local regular file; one with more than ``max_bytes`` bytes is :class:`Damaged`."""
    with open_checked(file) as content:
        data = content.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Damaged(f"{file} is damaged: it has more than {max_bytes:,} bytes")
    return data


@contextmanager
def open_checked(file: Path) -> Iterator[BufferedReader]:
    """Open a local regular file; links, pipes and devices are refused.

    Raises
    ------
    Damaged
        When there is none.
    StoreError
        When it cannot be read.
    """
    with reading(file):
        # Check before opening: to open a device may have effects.
        if not stat.S_ISREG(file.lstat().st_mode):
            raise Damaged(f"{file} is damaged: it is not a regular file")
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as content:  # noqa: PTH123
            yield content


@contextmanager
def writing(file: Location) -> Iterator[None]:
    """Turn an error of writing a file into a :class:`StoreError` of one line."""
    try:
        yield
    except StoreError:
        raise
    except _errors(file) as error:
        raise StoreError(f"{file}: cannot be written: {_reason(file, error)}") from None


@contextmanager
def reading(file: Location) -> Iterator[None]:
    """Turn an error of reading a file into one line: a missing file is :class:`Damaged`, others :class:`StoreError`."""
    try:
        yield
    except StoreError:
        raise
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise Damaged(f"{file} is damaged: {_reason(file, error).lower()}") from None
    except _errors(file) as error:
        raise StoreError(f"{file}: cannot be read: {_reason(file, error)}") from None


def _errors(file: Location) -> type[Exception]:
    """Return the errors to expect of a file: every remote service has its own."""
    return OSError if isinstance(file, Path) else Exception


def _reason(file: Location, error: Exception) -> str:
    """Return the message of the system or of the remote service, without the text that libraries add."""
    if isinstance(error, OSError) and error.errno and isinstance(file, Path):
        return os.strerror(error.errno)
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())


def _digest_of(file: Path) -> FileDigest:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        return FileDigest(bytes=content.tell(), sha256=digest)
