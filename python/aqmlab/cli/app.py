"""The base of all commands, with options for messages."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from aqmlab.ui import messages

MESSAGES = "Messages"
"""The title of the options that every command has."""

_Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show only errors.", rich_help_panel=MESSAGES)]
_Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show a line for each cell.", rich_help_panel=MESSAGES)]
_Log = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Append all messages, with times, to a file.", rich_help_panel=MESSAGES),
]


class App(typer.Typer):
    """A group of commands with the options ``--quiet``, ``--verbose`` and ``--log``."""

    def __init__(self, **settings: Any) -> None:
        names = {"help_option_names": ["-h", "--help"]}
        # Plain help takes half of the time, fits 80 columns, and does not interpret brackets as markup.
        super().__init__(
            no_args_is_help=True,
            context_settings=names,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            **settings,
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Register a command with the options for messages."""
        register = super().command(name, **settings)
        return lambda function: register(_with_messages(function))


def _with_messages(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def command(*, quiet: bool, verbose: bool, log: Path | None, **arguments: Any) -> None:
        messages.configure(quiet=quiet, verbose=verbose, log=log)
        function(**arguments)

    options = (("quiet", False, _Quiet), ("verbose", False, _Verbose), ("log", None, _Log))
    signature = inspect.signature(function, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, default, annotation in options
    ]
    command.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    command.__annotations__ = {**function.__annotations__, **{name: annotation for name, _, annotation in options}}
    return command
