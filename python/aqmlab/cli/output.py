"""Output of commands: JSON, names of written files, and errors in one line."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.ui import messages


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a user's mistake into an error of one line."""
    try:
        yield
    except ValueError as error:
        raise SpecError(str(error)) from None
    except OSError as error:
        raise SpecError(f"{error.filename}: cannot be written: {error.strerror}") from None


def check_directory(option: str, directory: Path) -> None:
    """Create a directory and check that it can be written to, before hours of experiments.

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
    """Refuse a figure that cannot be written, before anything is run for it."""
    if figure is not None:
        from aqmlab.ui import canvas

        with one_line_errors():
            canvas.check_writable(figure)


def report_written(figure: Path | None) -> None:
    """Log the name of a written figure."""
    if figure is not None:
        messages.logger.info("%s", figure)


def report_testbed(name: str | None) -> None:
    """Print the description of a testbed, if there is one."""
    if name is not None:
        from aqmlab.spec import testbeds

        print(f"Testbed {testbeds.find(name)}")


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))
