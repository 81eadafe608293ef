"""Cells in a local directory: each is written as a draft, which is renamed when it is complete."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from aqmlab.storage import marker
from aqmlab.storage.drafts import Drafts
from aqmlab.storage.errors import Damaged, StoreError, WriteError
from aqmlab.storage.integrity import StoredCell, check_all, files_of, read_metadata, reading, writing
from aqmlab.storage.io import checked
from aqmlab.storage.location import is_key


class Directory:
    """The cells of a results directory. Reading writes nothing."""

    def __init__(self, out: Path) -> None:
        self.cells = out / "cells"
        self._out = out
        self._drafts = Drafts(out / "drafts")

    def keys(self) -> list[str]:
        """List the keys of all cells; other directory entries are ignored."""
        with reading(self.cells):
            try:
                return sorted(filter(is_key, os.listdir(self.cells)))  # noqa: PTH208 - names are enough
            except (FileNotFoundError, NotADirectoryError):
                return []

    def stamps(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the stamp of each cell that exists: a text that changes when a file of the cell changes."""
        stamped = ((key, _stamp(f"{self.cells}/{key}")) for key in keys)
        return {key: stamp for key, stamp in stamped if stamp is not None}

    def read(self, keys: Iterable[str]) -> Iterator[tuple[str, StoredCell | Damaged]]:
        """Yield each of these cells that exists, or its damage."""
        for key in keys:
            directory = self.cells / key
            if not os.path.lexists(directory):
                continue
            try:
                metadata = read_metadata(directory)
                files = files_of(metadata)
                size = check_all(directory, files)
            except Damaged as damage:
                yield key, damage
            else:
                yield key, StoredCell(directory, metadata, files, size)

    def tables(self, cells: Sequence[StoredCell], name: str) -> Iterator[Path | Damaged]:
        """Yield the checked file of a table for each of these cells, or its damage."""
        with ThreadPoolExecutor() as pool:
            yield from pool.map(partial(checked, name), cells)

    @contextmanager
    def create(self, key: str) -> Iterator[Path]:
        """Return a draft directory, which becomes the cell when the block ends without an error."""
        marker.claim(self._out)
        with ExitStack() as stack:
            try:
                self.cells.mkdir(exist_ok=True)
                draft = stack.enter_context(self._drafts.create(key))
            except OSError as error:
                raise WriteError(f"out: must be a directory to write to, got {self._out} ({error.strerror})") from None
            yield draft
            directory = self.cells / key
            try:
                draft.rename(directory)
            except OSError as error:
                # Another process has made the same cell in the meantime, with the same bytes.
                if not directory.is_dir():
                    raise StoreError(f"{directory}: cannot be written: {error.strerror}") from None

    def remove(self, key: str) -> None:
        """Remove a cell atomically."""
        marker.claim(self._out)
        directory = self.cells / key
        with writing(directory):
            if directory.is_symlink() or directory.is_file():
                directory.unlink()
            else:
                with self._drafts.create(key) as draft:
                    directory.rename(draft)

    def set_aside(self, key: str) -> Path | None:
        """Move a damaged cell to ``damaged``; return its new place, ``None`` if another process has moved it."""
        marker.claim(self._out)
        directory, damaged = self.cells / key, self._out / "damaged"
        names = itertools.chain([key], (f"{key}-{n}" for n in itertools.count(2)))
        target = next(target for name in names if not os.path.lexists(target := damaged / name))
        with writing(target):
            try:
                damaged.mkdir(exist_ok=True)
                directory.rename(target)
            except FileNotFoundError:
                return None
        return target


def _stamp(directory: str) -> str | None:
    """Return the digest of the files' names, lengths and modification times; ``None`` without a directory."""
    try:
        with os.scandir(directory) as entries:
            files = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
    except OSError:
        return None
    text = "/".join(f"{name} {status.st_mode} {status.st_size} {status.st_mtime_ns}" for name, status in files)
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
