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

from aqmlab.storage.memoize import memoize

_FOLDER_NAME = re.compile(r"[0-9a-f]{16}-[a-z0-9_]{8}")
"""The name of a draft's directory: nothing else is ever removed."""

_MAX_IDLE_S = 86_400.0
"""A draft of another machine is abandoned if it is unlocked and this old: locks may not reach across machines."""


class Drafts:
    """The drafts in one directory, which is created for the first draft."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sweep_once = memoize(self.sweep)

    @contextmanager
    def create(self, name: str) -> Iterator[Path]:
        """Return an empty directory, which is removed when the block ends unless it was moved.

        The first draft of each writer removes abandoned drafts.
        """
        self._directory.mkdir(exist_ok=True)
        self._sweep_once()
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._directory))
        marker = None
        try:
            marker = _mark_alive(folder)
            draft = folder / name
            draft.mkdir()
            yield draft
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if marker is not None:
                os.close(marker)

    def sweep(self) -> None:
        """Remove the drafts of processes that have ended."""
        with os.scandir(self._directory) as entries:
            folders = [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
        for folder in folders:
            if _FOLDER_NAME.fullmatch(folder.name) and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _mark_alive(folder: Path) -> int:
    """Write and lock the file that shows that the process is alive; rename it to its final name once it is locked."""
    draft = folder / "unnamed"
    marker = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        os.write(marker, platform.node().encode())
        # Without locks an abandoned draft cannot be recognised, so that none is removed.
        with suppress(OSError):
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(folder / "alive")
    except BaseException:
        os.close(marker)
        raise
    return marker


def _is_abandoned(folder: Path) -> bool:
    try:
        marker = os.open(folder / "alive", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        status = os.fstat(marker)
        if not stat.S_ISREG(status.st_mode):
            return False
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_of_this_machine = os.read(marker, 1024) == platform.node().encode()
        return is_of_this_machine or time.time() - _last_change_s(folder) > _MAX_IDLE_S
    except OSError:
        return False
    finally:
        os.close(marker)


def _last_change_s(folder: Path) -> float:
    return max(file.lstat().st_mtime for file in (folder, *folder.rglob("*")))
