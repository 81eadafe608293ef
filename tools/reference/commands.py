"""The reference page of the commands: what ``--help`` says of each, from the parser of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer.main

from aqmlab.cli.app import MESSAGES
from aqmlab.cli.main import app, main
from markdown import docstring, flowing, table
from reference.template import template

_EXAMPLE = "Example: "


def commands() -> str:
    """Write the page."""
    found = dict(leaves())
    some = next(iter(found.values()))
    rows = [(f"[`{name}`](#{name.replace(' ', '-')})", _paragraphs(each)[0]) for name, each in found.items()]
    return template("commands").format(
        index=table(("command", "what it does"), rows),
        outcome=docstring(inspect.getdoc(main) or "").removeprefix("Run the command line. "),
        messages=_options(some, [each for each in some.params if _is_message(each)]),
        sections="\n".join(_section(name, each) for name, each in found.items()),
    )


def leaves() -> Iterator[tuple[str, Any]]:
    """Yield each command of the parser under the words that call it, such as ``aqmlab aqm show``."""
    return _below("aqmlab", typer.main.get_command(app))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if (group := getattr(command, "commands", None)) is None:
        yield name, command
        return
    for word in sorted(group):
        yield from _below(f"{name} {word}", group[word])


def _section(name: str, command: Any) -> str:
    about = _paragraphs(command)
    examples = [each.removeprefix(_EXAMPLE) for each in about if each.startswith(_EXAMPLE)]
    prose = "\n\n".join(each for each in about if not each.startswith(_EXAMPLE))
    own = [each for each in command.params if not _is_message(each)]
    parts = [f"## `{name}`\n", f"```text\n{_usage(name, command)}\n```\n", f"{prose}\n"]
    if examples:
        parts.append("```sh\n{}\n```\n".format("\n".join(examples)))
    if own:
        parts.append(_options(command, own))
    return "\n".join(parts)


def _paragraphs(command: Any) -> list[str]:
    return [flowing(each) for each in command.help.split("\n\n")]


def _usage(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    return " ".join((name, command.options_metavar, *map(_argument, arguments)))


def _argument(argument: Any) -> str:
    name = argument.metavar
    if not argument.required and not name.startswith("["):
        name = f"[{name}]"
    return f"{name}..." if argument.nargs == -1 and "..." not in name else name


def _options(command: Any, parameters: list[Any]) -> str:
    context = command.context_class(command)
    return table(("argument or option", "meaning", "default, range"), [_row(each, context) for each in parameters])


def _row(parameter: Any, context: Any) -> tuple[str, str, str]:
    written, said = parameter.get_help_record(context)
    if parameter.param_type_name == "argument":
        written = _argument(parameter)
    # Behind two spaces the parser puts what it knows itself, as in `[default: (one a processor); 1<=x<=1000]`.
    meaning, _, known = said.partition("  [")
    facts = [fact.removeprefix("default: ") for fact in known.removesuffix("]").split("; ") if fact]
    return f"`{written}`", flowing(meaning), "; ".join(fact.removeprefix("(").removesuffix(")") for fact in facts)


def _is_message(parameter: Any) -> bool:
    return getattr(parameter, "rich_help_panel", None) == MESSAGES
