"""Reading and writing whole files of a results directory, local or remote."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.storage.errors import Damaged
from aqmlab.storage.integrity import METADATA, FileDigest, Files, StoredCell, check, read_whole, reading, writing
from aqmlab.storage.location import Location

if TYPE_CHECKING:
    from upath import UPath


_MAX_BYTES = 1 << 28
"""The largest file that is read as a whole."""


def read_bytes(out: Location, name: str) -> bytes | None:
    """Return the content of a file; ``None`` if it does not exist.

    Raises
    ------
    StoreError
        When it cannot be read.
    """
    file = out / name
    with reading(file):
        try:
            if isinstance(file, Path):
                file.lstat()
                return read_whole(file, _MAX_BYTES)
            return bytes(file.fs.cat_file(file.path))
        except (FileNotFoundError, NotADirectoryError):
            return None


def write_bytes(out: Location, name: str, content: bytes) -> None:
    """Write a file atomically.

    Raises
    ------
    StoreError
        When it cannot be written.
    """
    with writing(out / name):
        if isinstance(out, Path):
            _write_local(out / name, content)
        else:
            file = out / name
            in_folders(file, out, lambda: file.fs.pipe_file(file.path, content))


def _write_local(file: Path, content: bytes) -> None:
    # The draft is hidden: a directory that holds nothing else still counts as empty.
    draft = file.with_name(f".{file.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(file)
    finally:
        with suppress(OSError):
            draft.unlink()


def remove(out: Location, name: str) -> None:
    """Remove a file if it exists.

    Raises
    ------
    StoreError
        When it cannot be removed.
    """
    file = out / name
    with writing(file), suppress(FileNotFoundError):
        if isinstance(file, Path):
            file.unlink()
        else:
            file.fs.rm_file(file.path)


def names(out: Location, folder: str) -> list[str]:
    """List the files of a folder; an absent folder is empty.

    Raises
    ------
    StoreError
        When it cannot be listed.
    """
    location = out / folder
    with reading(location):
        if not isinstance(location, Path):
            # Other processes write there too.
            location.fs.invalidate_cache()
            return sorted(path.rpartition("/")[2] for path in location.fs.find(location.path))
        try:
            return sorted(file.name for file in location.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []


def in_folders(file: UPath, out: UPath, write: Callable[[], None]) -> None:
    """Write a file below ``out``, and create its folders where the file system needs them.

    ``out`` itself must exist: it may be a bucket, and a mistyped name must not create one.
    """
    try:
        write()
    except FileNotFoundError:
        folder = out
        for name in str(file).removeprefix(f"{out / 'x'}"[:-1]).split("/")[:-1]:
            folder = folder / name
            with suppress(FileExistsError):
                file.fs.mkdir(folder.path, create_parents=False)
        write()


def fetch_all(directory: Location, files: Files) -> Path:
    """Return a local directory with all files of a cell; errors are those of :func:`fetch`."""
    if isinstance(directory, Path):
        return directory
    copy = Path(tempfile.mkdtemp(dir=_copies())) / directory.name
    copy.mkdir()
    for name, digest in files.items():
        os.link(fetch(directory / name, digest), copy / name)
    (copy / METADATA).write_bytes(read_bytes(directory, METADATA) or b"")
    return copy


def fetch(file: Location, digest: FileDigest) -> Path:
    """Return a local, checked copy of a file; each process fetches a remote file once.

    Raises
    ------
    Damaged
        When its checksum is wrong.
    StoreError
        When it cannot be read.
    """
    if isinstance(file, Path):
        check(file, digest)
        return file
    copy = _copies() / f"{digest.sha256}{file.suffix}"
    if not copy.exists():
        handle, name = tempfile.mkstemp(dir=copy.parent)
        os.close(handle)
        draft = Path(name)
        try:
            with reading(file):
                file.fs.get_file(file.path, name)
            check(draft, digest, name=file)
            draft.replace(copy)
        finally:
            draft.unlink(missing_ok=True)
    return copy


def checked(name: str, cell: StoredCell) -> Path | Damaged:
    """Return a local, checked copy of a cell's file, or its damage."""
    try:
        return fetch(cell.directory / name, cell.files[name])
    except Damaged as damage:
        return damage


@cache
def _copies() -> Path:
    """Return the directory for copies of remote files, which is removed when this process ends."""
    folder = tempfile.mkdtemp(prefix="aqmlab-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
