"""What commands write: JSON, files they have written, and refusals in one line."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.ui import messages


@contextmanager
def one_line_refusals() -> Iterator[None]:
    """Turn what a user can mend into one line."""
    try:
        yield
    except ValueError as error:
        raise SpecError(str(error)) from None
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be written: {error.strerror}") from None


def check_directory(option: str, directory: Path) -> None:
    """Make a directory: what is wrong with it is to be known before hours of experiments.

    Raises
    ------
    SpecError
        When it cannot be written to.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise SpecError(f"{option}: must be a directory to write to, got {directory} ({error.strerror})") from None


def check_figure(figure: Path | None) -> None:
    """Refuse a figure that could not be written, before anything is run for it."""
    if figure is not None:
        from aqmlab.ui import canvas

        with one_line_refusals():
            canvas.check_writable(figure)


def report_written(figure: Path | None) -> None:
    """Say that a figure was written."""
    if figure is not None:
        messages.logger.info("%s", figure)


def report_testbed(name: str | None) -> None:
    """Print the line of a testbed; none where an experiment names none."""
    if name is not None:
        from aqmlab.spec import testbeds

        print(f"Testbed {testbeds.named(name)}")


def print_json(value: object) -> None:
    """Print for programs."""
    print(json.dumps(value, indent=2))
