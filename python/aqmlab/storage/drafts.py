"""Drafts: directories that are being written, each under a file lock.

The lock ends with its process; the next writer removes drafts without one.

::

    drafts/<key>-x7k2p0qz/    a draft's own place
              alive           the name of its machine; locked for as long as its process lives
              <key>/          what is being written
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aqmlab.storage.memoize import once

_PLACE = re.compile(r"[0-9a-f]{16}-[a-z0-9_]{8}")
"""The name of a draft's directory: nothing else is ever removed."""

_OF_ANOTHER_MACHINE_S = 86_400.0
"""A draft of another machine is abandoned if it is unlocked and this old: locks may not reach across machines."""


class Drafts:
    """The drafts in one directory, which is created for the first draft."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sweep_once = once(self.sweep)

    @contextmanager
    def new(self, name: str) -> Iterator[Path]:
        """Return an empty directory, which is removed when the block ends unless it was moved.

        The first draft of each writer removes abandoned drafts.
        """
        self._directory.mkdir(exist_ok=True)
        self._sweep_once()
        place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._directory))
        alive = None
        try:
            alive = _mark_alive(place)
            draft = place / name
            draft.mkdir()
            yield draft
        finally:
            shutil.rmtree(place, ignore_errors=True)
            if alive is not None:
                os.close(alive)

    def sweep(self) -> None:
        """Remove the drafts of processes that have ended."""
        with os.scandir(self._directory) as entries:
            places = [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
        for place in places:
            if _PLACE.fullmatch(place.name) and _is_abandoned(place):
                shutil.rmtree(place, ignore_errors=True)


def _mark_alive(place: Path) -> int:
    """Write and lock the file that shows that the process is alive; rename it to its final name once it is locked."""
    unnamed = place / "unnamed"
    alive = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        os.write(alive, platform.node().encode())
        # Without locks an abandoned draft cannot be recognised, so that none is removed.
        with suppress(OSError):
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unnamed.rename(place / "alive")
    except BaseException:
        os.close(alive)
        raise
    return alive


def _is_abandoned(place: Path) -> bool:
    try:
        alive = os.open(place / "alive", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        about = os.fstat(alive)
        if not stat.S_ISREG(about.st_mode):
            return False
        fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_of_this_machine = os.read(alive, 1024) == platform.node().encode()
        return is_of_this_machine or time.time() - _last_change_s(place) > _OF_ANOTHER_MACHINE_S
    except OSError:
        return False
    finally:
        os.close(alive)


def _last_change_s(place: Path) -> float:
    return max(file.lstat().st_mtime for file in (place, *place.rglob("*")))
