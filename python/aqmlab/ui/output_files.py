"""Output files that a user names.

A new or regular file is replaced atomically when it is complete. A symbolic link is followed. A device, a pipe or a
socket is written to, and never replaced.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_DEVICE_FOLDERS = (Path("/dev"), Path("/proc"))
"""System directories whose files refer to other files, as ``/dev/stdout`` does to a redirected file."""

_DRAFT = ".draft"


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """Open a file for output; if the block fails, a regular file keeps its old content.

    Raises
    ------
    OSError
        When it cannot be written; the error names the file.
    """
    try:
        if _is_special(file):
            with file.open("wb") as out:
                yield out
            return
        target, draft = _draft(file)
        try:
            with draft.open("xb") as out:
                yield out
            with suppress(FileNotFoundError):
                draft.chmod(stat.S_IMODE(target.stat().st_mode))
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        # The error of a full disk has no file name, and the user does not know the draft's name.
        if error.filename is None or Path(os.fsdecode(error.filename)).name.endswith(_DRAFT):
            error.filename = str(file)
        raise


def check(file: Path) -> None:
    """Raise the ``OSError`` that :func:`opened` would raise, before a long computation; nothing is changed."""
    if _is_special(file):
        # Opening a pipe would wait for its reader, and closing it would end the reader's input.
        if not os.access(file, os.W_OK):
            raise PermissionError(13, os.strerror(13), str(file))
        return
    _, draft = _draft(file)
    try:
        draft.touch(exist_ok=False)
        draft.unlink()
    except OSError as error:
        error.filename = str(file)
        raise


def _draft(file: Path) -> tuple[Path, Path]:
    """Return the real path of a file, and the path of its draft in the same directory."""
    target = Path(os.path.realpath(file))
    return target, target.with_name(f".{target.name[:200]}-{secrets.token_hex(4)}{_DRAFT}")


def _is_special(file: Path) -> bool:
    """Return true if a file must be written to instead of replaced; a directory is an error."""
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, os.strerror(21), str(file))
    absolute = Path(os.path.abspath(file))  # noqa: PTH100 - links are not to be followed here
    return not stat.S_ISREG(mode) or any(absolute.is_relative_to(folder) for folder in _DEVICE_FOLDERS)
