"""Standard output with a limited character set, closed by its reader, or on a full disk."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from aqmlab.ui.escaping import VisibleStream

_ASCII = {"±": "+-", "²": "^2", "→": "->", "…": "...", "●": "*", "○": "o"}
"""ASCII replacements of characters that the locale's encoding lacks; other characters become a question mark."""


def _ascii_fallback(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_ASCII.get(character, "?") for character in missing), error.end


codecs.register_error("aqmlab.plainly", _ascii_fallback)


@contextmanager
def use_ascii_fallback() -> Iterator[None]:
    """Replace control characters, and characters that the locale's encoding lacks, on standard output."""
    previous = sys.stdout
    if isinstance(previous, io.TextIOWrapper) and previous.errors in ("strict", "surrogateescape"):
        previous.reconfigure(errors="aqmlab.plainly")
    if previous is not None:
        sys.stdout = VisibleStream(previous)
    try:
        yield
    finally:
        sys.stdout = previous


def flush() -> None:
    """Flush standard output, if it is open.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    if sys.stdout is not None:
        sys.stdout.flush()


def discard_stdout() -> None:
    """Discard unwritten output, so that the interpreter does not retry when it exits."""
    with suppress(OSError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
