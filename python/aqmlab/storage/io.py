"""Files of a results directory, wherever it is, read and written as a whole."""

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


_MOST_BYTES = 1 << 28
"""Of a file that is read as a whole."""


def read_bytes(out: Location, name: str) -> bytes | None:
    """Return what is in a file; ``None`` where there is none.

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
                return read_whole(file, _MOST_BYTES)
            return bytes(file.fs.cat_file(file.path))
        except (FileNotFoundError, NotADirectoryError):
            return None


def write_bytes(out: Location, name: str, content: bytes) -> None:
    """Write a file: whole, or not at all.

    Raises
    ------
    StoreError
        When it cannot be written.
    """
    with writing(out / name):
        if isinstance(out, Path):
            _put_here(out / name, content)
        else:
            there = out / name
            in_folders(there, out, lambda: there.fs.pipe_file(there.path, content))


def _put_here(file: Path, content: bytes) -> None:
    # Hidden: a directory with this file alone is still empty.
    draft = file.with_name(f".{file.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(file)
    finally:
        with suppress(OSError):
            draft.unlink()


def remove(out: Location, name: str) -> None:
    """Remove a file that may be gone already.

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
    """List the files of a folder; none where there is no folder.

    Raises
    ------
    StoreError
        When it cannot be listed.
    """
    where = out / folder
    with reading(where):
        if not isinstance(where, Path):
            # Others write there too.
            where.fs.invalidate_cache()
            return sorted(path.rpartition("/")[2] for path in where.fs.find(where.path))
        try:
            return sorted(file.name for file in where.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []


def in_folders(file: UPath, out: UPath, write: Callable[[], None]) -> None:
    """Write a file below ``out`` and make its folders where there have to be such, which object stores do without.

    ``out`` itself has to be there: what is missing may be a bucket, which nobody makes by mistyping it.
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
    """Return a directory of this machine with all files of a cell; errors are those of :func:`fetched`."""
    if isinstance(directory, Path):
        return directory
    here = Path(tempfile.mkdtemp(dir=_copies())) / directory.name
    here.mkdir()
    for name, written in files.items():
        os.link(fetch(directory / name, written), here / name)
    (here / METADATA).write_bytes(read_bytes(directory, METADATA) or b"")
    return here


def fetch(file: Location, written: FileDigest) -> Path:
    """Return where a file can be read on this machine; what is elsewhere is fetched once by each process, and checked.

    Raises
    ------
    Damaged
        When it is not, to the byte, what was written.
    StoreError
        When it cannot be read.
    """
    if isinstance(file, Path):
        check(file, written)
        return file
    copy = _copies() / f"{written.sha256}{file.suffix}"
    if not copy.exists():
        handle, name = tempfile.mkstemp(dir=copy.parent)
        os.close(handle)
        draft = Path(name)
        try:
            with reading(file):
                file.fs.get_file(file.path, name)
            check(draft, written, of=file)
            draft.replace(copy)
        finally:
            draft.unlink(missing_ok=True)
    return copy


def checked(name: str, cell: StoredCell) -> Path | Damaged:
    """Return where a file of a cell can be read on this machine, or what is wrong with it."""
    try:
        return fetch(cell.directory / name, cell.files[name])
    except Damaged as damage:
        return damage


@cache
def _copies() -> Path:
    """Return where copies of files are kept by their checksums, until this process ends."""
    folder = tempfile.mkdtemp(prefix="aqmlab-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
