"""Standard output as it may be: without some characters, closed by its reader, or on a full disk."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress

_PLAIN = {"±": "+-", "²": "^2", "→": "->", "…": "..."}
"""What is written where the locale has no such character; a question mark for others."""


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in missing), error.end


codecs.register_error("aqmlab.plainly", _plainly)


def write_plainly() -> None:
    """Write what the locale's encoding lacks in other characters, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        sys.stdout.reconfigure(errors="aqmlab.plainly")


def flush() -> None:
    """Write what is still to be written to standard output; it may be closed.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    if sys.stdout is not None:
        sys.stdout.flush()


def give_up() -> None:
    """Drop what could not be written, so that the interpreter does not try again at its end."""
    with suppress(OSError, AttributeError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
