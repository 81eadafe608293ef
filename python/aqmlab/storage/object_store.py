"""Cells in an object store, which cannot rename: a cell exists when its metadata do, which are written last.

::

    s3://bucket/prefix/cells/<key>/...       as in a directory; without metadata.json it is no cell
                       drafts/<key>          empty: a cell that is being made

A cell is made in a local directory and uploaded. The metadata, which have the checksums of the other files, never
overwrite others: of two processes that make the same cell, the first one wins. Their other files may differ, if the
scheme was typed in two ways; if uploads overlap, readers detect the mixture by the checksums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from aqmlab.storage import marker
from aqmlab.storage.errors import Damaged, StoreError
from aqmlab.storage.integrity import (
    MAX_METADATA_BYTES,
    METADATA,
    StoredCell,
    check_length,
    files_of,
    parse_metadata,
    reading,
    writing,
)
from aqmlab.storage.io import checked, in_folders, write_bytes
from aqmlab.storage.location import is_key
from aqmlab.storage.memoize import memoize

if TYPE_CHECKING:
    from upath import UPath

_VERSION_KEYS = ("size", "ETag", "etag", "md5Hash", "mtime", "created")
"""Attributes of remote files that change with their content."""

_CONCURRENCY = 16
"""Tables fetched at a time."""


class Objects:
    """The cells below a location that fsspec knows."""

    def __init__(self, out: UPath) -> None:
        self.cells = out / "cells"
        self._out = out
        self._fs = out.fs
        self._claim = memoize(partial(marker.claim, out))

    def keys(self) -> list[str]:
        """List the keys of all cells."""
        lengths_by_key = self._lengths(self.cells).items()
        return sorted(key for key, lengths in lengths_by_key if METADATA in lengths and is_key(key))

    def stamps(self, keys: Collection[str]) -> dict[str, str]:
        """Return the stamp of each cell that exists: a text that changes when a file of the cell changes."""
        if not keys:
            return {}
        files = self._files(self.cells / next(iter(keys)) if len(keys) == 1 else self.cells)
        return {key: _stamp(files[key]) for key in keys if METADATA in files.get(key, ())}

    def read(self, keys: Collection[str]) -> Iterator[tuple[str, StoredCell | Damaged]]:
        """Yield each of these cells that exists, or its damage, by one listing and the metadata of each."""
        if not keys:
            return
        lengths = self._lengths(self.cells / next(iter(keys)) if len(keys) == 1 else self.cells)
        present = [key for key in keys if METADATA in lengths.get(key, ())]
        small = [key for key in present if lengths[key][METADATA] <= MAX_METADATA_BYTES]
        if not present:
            return
        with reading(self.cells):
            # A cell that is removed in the meantime counts as absent.
            contents = self._fs.cat([(self.cells / key / METADATA).path for key in small], on_error="return")
        for key in present:
            directory = self.cells / key
            try:
                if key not in small:
                    raise Damaged(f"{directory / METADATA} is damaged: it has {lengths[key][METADATA]:,} bytes")
                content = contents[(directory / METADATA).path]
                if isinstance(content, Exception):
                    with reading(directory / METADATA):
                        raise content
                yield key, _stored(directory, content, lengths[key])
            except Damaged as damage:
                yield key, damage

    def tables(self, cells: Sequence[StoredCell], name: str) -> Iterator[Path | Damaged]:
        """Yield the local copy of a table for each of these cells, or its damage."""
        with ThreadPoolExecutor(_CONCURRENCY) as pool:
            yield from pool.map(partial(checked, name), cells)

    @contextmanager
    def create(self, key: str) -> Iterator[Path]:
        """Return a local draft directory, which is uploaded when the block ends without an error."""
        self._claim()
        # A missing permission to write is reported before the run, not after it.
        write_bytes(self._out, f"drafts/{key}", b"")
        try:
            with TemporaryDirectory(prefix="aqmlab-") as draft:
                yield Path(draft)
                self._upload(Path(draft), self.cells / key)
        finally:
            # The draft marker has no reader: an error of removing it does not matter.
            with suppress(Exception):
                self._fs.rm_file((self._out / "drafts" / key).path)

    def remove(self, key: str) -> None:
        """Remove a cell: without its metadata it does not exist."""
        directory = self.cells / key
        with writing(directory):
            self._fs.rm_file((directory / METADATA).path)
            for name in self._lengths(directory).get(key, ()):
                self._fs.rm_file((directory / name).path)

    def set_aside(self, key: str) -> UPath | None:
        """Move a damaged cell to ``damaged``; return its new place, ``None`` if another process has moved it."""
        directory, damaged = self.cells / key, self._out / "damaged"
        taken = self._lengths(damaged)
        number = next(n for n in range(1, len(taken) + 2) if _numbered(key, n) not in taken)
        target = damaged / _numbered(key, number)
        with writing(target):
            try:
                for name in self._lengths(directory).get(key, ()):
                    source, copy = directory / name, target / name
                    in_folders(copy, self._out, partial(self._fs.cp_file, source.path, copy.path))
            except FileNotFoundError:
                return None
            self.remove(key)
        return target

    def _lengths(self, folder: UPath) -> dict[str, dict[str, int]]:
        """Return the lengths of the files in ``folder`` and its directories, by directory and name."""
        files_by_key = self._files(folder).items()
        return {key: {name: int(info["size"]) for name, info in files.items()} for key, files in files_by_key}

    def _files(self, folder: UPath) -> dict[str, dict[str, Mapping[str, Any]]]:
        """Return the attributes of the files in ``folder`` and its directories, by directory and name."""
        with reading(folder):
            # Other processes write there too.
            self._fs.invalidate_cache()
            try:
                infos = self._fs.find(folder.path, detail=True)
            except FileNotFoundError as error:
                # Not a missing file but a missing bucket.
                raise StoreError(f"{self._out}: cannot be read: {error}") from None
        files: dict[str, dict[str, Mapping[str, Any]]] = {}
        for path, info in infos.items():
            directory, _, name = path.rpartition("/")
            files.setdefault(directory.rpartition("/")[2], {})[name] = info
        return files

    def _upload(self, draft: Path, directory: UPath) -> None:
        marker = directory / METADATA
        if self._exists(marker):
            return
        for file in sorted(draft.iterdir()):
            if file.name != METADATA:
                target = directory / file.name
                with writing(target):
                    in_folders(target, self._out, partial(self._fs.put_file, str(file), target.path))
        with writing(marker), suppress(FileExistsError):
            self._fs.pipe_file(marker.path, (draft / METADATA).read_bytes(), mode="create")

    def _exists(self, file: UPath) -> bool:
        with reading(file):
            return bool(self._fs.exists(file.path))


def _stored(directory: UPath, content: bytes, lengths: dict[str, int]) -> StoredCell:
    metadata = parse_metadata(directory / METADATA, content)
    files = files_of(metadata)
    for name, digest in files.items():
        if name not in lengths:
            raise Damaged(f"{directory / name} is damaged: no such file")
        check_length(directory / name, lengths[name], digest)
    return StoredCell(directory, metadata, files, sum(lengths.values()))


def _stamp(files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the digest of the files' attributes: their lengths, and digests or modification times."""
    versions = [
        (name, sorted((key, str(value)) for key, value in files[name].items() if key in _VERSION_KEYS))
        for name in sorted(files)
    ]
    return hashlib.blake2b(repr(versions).encode(), digest_size=16).hexdigest()


def _numbered(key: str, number: int) -> str:
    return key if number == 1 else f"{key}-{number}"
