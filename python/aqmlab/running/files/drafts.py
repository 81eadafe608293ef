"""Drafts: directories being written, beside the cells, and swept once the process that wrote them is gone.

::

    drafts/lock             held while a draft is begun, and by who sweeps
           <name>-x7k2/     a draft's own place
               alive        locked for as long as its process lives
               <name>/      what is being written
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Drafts:
    """The drafts below one directory, which is made for the first of them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @contextmanager
    def new(self, name: str) -> Iterator[Path]:
        """Give an empty directory. When the block ends, nothing is left of what was not moved away from there."""
        with self._one_at_a_time():
            place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._directory))
            alive = _open(place / "alive")
            _lock(alive)
        try:
            draft = place / name
            draft.mkdir()
            yield draft
        finally:
            shutil.rmtree(place, ignore_errors=True)
            os.close(alive)

    def sweep(self) -> None:
        """Remove what is left of processes that are gone: killed, or with their machine."""
        if self._directory.is_dir():
            with self._one_at_a_time():
                for place in self._directory.iterdir():
                    if place.is_dir() and _is_abandoned(place):
                        shutil.rmtree(place, ignore_errors=True)

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        self._directory.mkdir(parents=True, exist_ok=True)
        lock = _open(self._directory / "lock")
        try:
            _lock(lock)
            yield
        finally:
            os.close(lock)


def _is_abandoned(place: Path) -> bool:
    try:
        alive = os.open(place / "alive", os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(alive)
    return True


def _open(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT, 0o666)


def _lock(file: int) -> None:
    # A file system without locks: nothing is swept there, since nobody can tell whose a draft is.
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX)
