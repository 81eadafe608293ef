"""What is said beside results: on standard error, more or less of it, and in a file.

All of it goes through the logger ``aqmlab``: progress and what was written at the level ``INFO``, a line for each cell
at ``DEBUG``, refusals at ``ERROR``. From Python, ``logging`` decides what becomes of it; here is what the command line
does.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.ui.escaping import visible

logger = logging.getLogger("aqmlab")


_LONGEST = 2_000
"""Characters of a message: one that quotes what was given may be as long as that is."""


class _Formatter(logging.Formatter):
    """Writes a message that a terminal may show; an error is one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        text = visible(record.message)
        if record.levelno >= logging.ERROR:
            text = text.replace("\n", r"\n")
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}... ({len(text):,} characters)"
        record.message = text
        return super().formatMessage(record)


class _StandardError(logging.Handler):
    """Writes to what is standard error at that moment: where bars are shown, that is above them."""

    def emit(self, record: logging.LogRecord) -> None:
        refusal = "aqmlab: " if record.levelno >= logging.ERROR else ""
        print(f"{refusal}{self.format(record)}", file=sys.stderr)


_standard_error = _StandardError()
_standard_error.setFormatter(_Formatter())


@contextmanager
def level_of() -> Iterator[None]:
    """Write to standard error what is said inside."""
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    _standard_error.setLevel(logging.INFO)
    logger.addHandler(_standard_error)
    try:
        yield
    finally:
        for handler in tuple(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)


def configure(*, quiet: bool, verbose: bool, log: Path | None) -> None:
    """Say less or more on standard error, and everything, with times, at the end of a file too.

    Raises
    ------
    SpecError
        When the two exclude each other or the file cannot be written.
    """
    if quiet and verbose:
        raise SpecError("--quiet: cannot be with --verbose")
    if quiet:
        _standard_error.setLevel(logging.ERROR)
    if verbose:
        _standard_error.setLevel(logging.DEBUG)
    if log is None:
        return
    try:
        handler = logging.FileHandler(log, encoding="utf-8")
    except OSError as error:
        raise SpecError(f"--log: must be a file that can be written, got {log} ({error.strerror})") from None
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logger.addHandler(handler)


def should_show() -> bool:
    """Tell whether standard error is to have more than errors."""
    return _standard_error.level <= logging.INFO
