"""Markdown as the reference pages need it: tables, and the text of docstrings and doc comments."""

from __future__ import annotations

import re
from collections.abc import Iterable


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a table; a bar in a cell stays in it."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def flowing(text: str) -> str:
    """Write a docstring's or a doc comment's text as one paragraph."""
    # [`Profile`](crate::Profile), [`Profile`], :class:`Profile` and ``Profile`` are all the code `Profile`.
    text = re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", text)
    # Of :meth:`Store.cells <where.it.is>` what is shown.
    text = re.sub(r":\w+:`~?([^`<]+?)(?: <[^`]*>)?`", r"`\1`", text)
    text = text.replace("``", "`").replace("\\[", "[").replace("\\]", "]")
    return " ".join(text.split())


def docstring(text: str) -> str:
    """Write a numpydoc docstring: paragraphs, and each section as a list or, of examples, as code."""
    title, underline = r"^([A-Z]\w+)\n", r"-{3,}\n"
    about, *sections = re.split(title + underline, f"{text}\n", flags=re.MULTILINE)
    parts = [_prose(about)]
    for name, body in zip(sections[::2], sections[1::2], strict=True):
        parts.append(f"**{name}**\n\n{_examples(body) if name == 'Examples' else _items(body)}")
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _prose(text: str) -> str:
    return "\n\n".join(_paragraph(paragraph) for paragraph in text.strip().split("\n\n"))


def _paragraph(text: str) -> str:
    """Keep the lines of lists, indented equations and examples; let others flow."""
    if text.startswith("* "):
        return "\n".join(f"* {flowing(item)}" for item in text.removeprefix("* ").split("\n* "))
    if text.startswith("    "):
        return text
    return _examples(text) if text.startswith(">>>") else flowing(text)


def _items(text: str) -> str:
    """Names, each with an indented text below it."""
    items = re.findall(r"^(\S.*)\n((?:(?: +.*)?\n)*)", text, re.MULTILINE)
    return "".join(f"* `{name}`: {flowing(meaning)}\n" for name, meaning in items)


def _examples(text: str) -> str:
    """Doctests as code, and what is said between them."""
    return "\n\n".join(
        f"```pycon\n{paragraph}\n```" if paragraph.startswith(">>>") else flowing(paragraph)
        for paragraph in re.sub(r" *# doctest: .*", "", text).strip().split("\n\n")
    )
