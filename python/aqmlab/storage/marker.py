"""The marker of a store, ``aqmlab-store.json``: aqmlab writes only to directories that have it.

A new or empty directory becomes a store when the first file is written there. A directory with files and no marker,
such as a project's own ``results``, is refused until ``aqmlab init`` makes it a store.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from aqmlab.storage.errors import StoreError, WriteError
from aqmlab.storage.integrity import reading, writing
from aqmlab.storage.io import read_bytes, write_bytes
from aqmlab.storage.location import Location, local_folder

NAME = "aqmlab-store.json"

FOLDERS = ("cells", "drafts", "damaged", "failed", "index", "console", "notes")
"""The internal folders of a store, without figures and reports."""

_FORMAT = 1


def claim(out: Location) -> None:
    """Ensure that a directory is a store before writing there; a new or empty directory becomes a store.

    Raises
    ------
    WriteError
        When it has files and no marker, the marker of another format, or a symbolic link in place of a folder, or when
        it cannot be written to.
    """
    if isinstance(out, Path):
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WriteError(f"out: must be a directory to write to, got {out} ({error.strerror})") from None
        _refuse_links(out)
    try:
        if is_store(out):
            return
        # Another writer may make it a store between the two checks; then the files belong to that store.
        if _names(out) and not is_store(out):
            raise WriteError(
                f"out: {out} has files of others and is no store (it has no {NAME}): choose another directory, or make"
                f" this one a store with: aqmlab init {out}"
            )
        create(out)
    except WriteError:
        raise
    except StoreError as error:
        raise WriteError(str(error)) from None


def create(out: Location) -> None:
    """Make a directory a store, also if it has files.

    Raises
    ------
    StoreError
        When it cannot be written to, or has the marker of another format.
    """
    if not is_store(out):
        write_bytes(out, NAME, (json.dumps({"format": _FORMAT}) + "\n").encode())


def folder_for_users(out: Location, name: str = "") -> Path:
    """Return a folder for figures and reports, created if necessary.

    For a remote store it is in the local directory ``results``. Errors are those of :func:`claim`.
    """
    store = local_folder(out)
    claim(store)
    folder = store / name
    with writing(folder):
        folder.mkdir(exist_ok=True)
    return folder


def is_store(out: Location) -> bool:
    """Return true if a directory has the marker.

    Raises
    ------
    WriteError
        When the marker has another format, or is damaged.
    """
    content = read_bytes(out, NAME)
    if content is None:
        return False
    try:
        version = json.loads(content)["format"]
    except (ValueError, LookupError, TypeError, RecursionError):
        version = None
    if version != _FORMAT:
        problem = f"of format {version}, and this version has {_FORMAT}" if isinstance(version, int) else "damaged"
        raise WriteError(f"out: {out / NAME} is {problem}")
    return True


def _refuse_links(out: Path) -> None:
    """Refuse folders that are symbolic links: in a store from an untrusted source they may lead out of it."""
    for name in FOLDERS:
        if os.path.islink(out / name):  # noqa: PTH114 - Path's raises for a name that is too long
            raise WriteError(f"out: {out / name} must be a directory to be written to, and is a symbolic link")


def _names(out: Location) -> list[str]:
    """List the entries of a directory; hidden files do not count."""
    with reading(out):
        if isinstance(out, Path):
            try:
                entries = [file.name for file in out.iterdir()]
            except FileNotFoundError:
                return []
        else:
            out.fs.invalidate_cache()
            try:
                entries = [path.rstrip("/").rpartition("/")[2] for path in out.fs.ls(out.path, detail=False)]
            except FileNotFoundError:
                return []
    return [name for name in entries if not name.startswith(".")]
