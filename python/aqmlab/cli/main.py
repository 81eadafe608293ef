"""The command line: ``aqmlab COMMAND``. Every module of ``aqmlab.cli.commands`` is a command or a group of commands."""

from __future__ import annotations

import os
import pkgutil
import signal
import sys
import traceback
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from aqmlab._core import SpecError, engine_version, results_number
from aqmlab.cli import commands
from aqmlab.cli.app import App
from aqmlab.cli.cells import Interrupted
from aqmlab.disciplines.custom.errors import LawError
from aqmlab.running.errors import LiveError
from aqmlab.storage.errors import StoreError
from aqmlab.ui import messages, streams
from aqmlab.ui.escaping import visible

app = App(add_completion=True)
for command in pkgutil.iter_modules(commands.__path__):
    app.add_typer(import_module(f"{commands.__name__}.{command.name}").app)

_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line. A user's mistake is one line on standard error with exit code 2.

    Other failures, such as a full disk, have the exit code 1, and an interrupt 130. If ``AQMLAB_TRACEBACK`` is set, an
    error in a custom law is shown with its traceback.
    """
    # SIGTERM acts like an interrupt, so that incomplete cells leave nothing behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with streams.use_ascii_fallback(), messages.logging_to_stderr():
        code, message = _outcome()
        if message:
            messages.logger.error(message)
    sys.exit(code)


def _outcome() -> tuple[int, str]:
    """Run the typed command; return its exit code and an error message, if any."""
    try:
        code = app(prog_name="aqmlab", standalone_mode=False) or 0
        streams.flush()
    except typer.TyperException as error:
        mistake = error.format_message()
        if mistake.startswith("Usage:"):
            # Without a command, typer's message is the list of commands.
            print(visible(mistake), file=sys.stderr)
            mistake = ""
        return 2, mistake
    except SpecError as error:
        return 2, str(error)
    except LawError as error:
        if os.environ.get("AQMLAB_TRACEBACK"):
            traceback.print_exception(error)
        return 2, str(error)
    except (StoreError, LiveError) as error:
        return 1, str(error)
    except MemoryError as error:
        return 1, str(error) or "out of memory"
    except Interrupted as error:
        return _INTERRUPTED, str(error)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        # The reader of the pipe has closed it.
        streams.discard_stdout()
        return 1, ""
    except SystemExit as ended:
        # Typer exits after an installation of completion, and with 1 if the reader of a help text has closed the pipe.
        if ended.code:
            streams.discard_stdout()
        return int(bool(ended.code)), ""
    except OSError as error:
        streams.discard_stdout()
        return 1, f"{error.filename or 'standard output'}: cannot be written: {error.strerror or error}"
    # typer reports an interrupt by this exit code.
    return code, "interrupted" if code == _INTERRUPTED else ""


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"aqmlab {engine_version()}, results {results_number()}")
        raise typer.Exit


@app.callback()
def aqmlab(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Compare queue disciplines under thousands of web users, or any traffic, on a congested link."""
