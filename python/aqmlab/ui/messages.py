"""Messages on standard error and in a log file.

They use the logger ``aqmlab``: progress and written files at the level ``INFO``, a line for each cell at ``DEBUG``,
errors at ``ERROR``. In Python, configure ``logging`` as usual; this module is the configuration for the command line.
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


_MAX_CHARACTERS = 2_000
"""The largest number of characters of a message, which may quote long input."""


class _Formatter(logging.Formatter):
    """Formats a message with control characters escaped; an error is one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        text = visible(record.message)
        if record.levelno >= logging.ERROR:
            text = text.replace("\n", r"\n")
        if len(text) > _MAX_CHARACTERS:
            text = f"{text[:_MAX_CHARACTERS]}... ({len(text):,} characters)"
        record.message = text
        return super().formatMessage(record)


class _StandardError(logging.Handler):
    """Writes to the present ``sys.stderr``: rich replaces it to print above progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        prefix = "aqmlab: " if record.levelno >= logging.ERROR else ""
        print(f"{prefix}{self.format(record)}", file=sys.stderr)


_standard_error = _StandardError()
_standard_error.setFormatter(_Formatter())


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Write messages in the block to standard error."""
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
    """Set the level of messages on standard error, and append all messages with times to a log file.

    Raises
    ------
    SpecError
        When ``quiet`` and ``verbose`` are both set, or the file cannot be written.
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
    """Return true if standard error shows more than errors."""
    return _standard_error.level <= logging.INFO
