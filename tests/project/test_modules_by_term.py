"""The table "Modules by term" of ARCHITECTURE.md: a grep for a textbook term finds its module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = re.compile(r"^## Modules by term$(.*?)^## ", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (?!term )([^|`]+) \| (`.+`) \|$", re.MULTILINE)


def entries() -> Iterator[tuple[str, str]]:
    """Yield each term of the table with each of its modules."""
    table = TABLE.search((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert table
    for terms, modules in ROW.findall(table[1]):
        for term in terms.split(", "):
            for module in re.findall(r"`([^`]+)`", modules):
                yield term, module


def summary(module: Path) -> str:
    """Return the first paragraph of a module's documentation."""
    text = module.read_text(encoding="utf-8")
    if module.suffix == ".py":
        documentation = ast.get_docstring(ast.parse(text)) or ""
    else:
        documentation = "\n".join(re.findall(r"^//! ?(.*)", text, re.MULTILINE))
    return documentation.split("\n\n", maxsplit=1)[0]


def words(text: str) -> str:
    """Return the words of a text in lower case, each after one space."""
    return " " + re.sub(r"[^a-z]+", " ", text.lower()).strip()


@pytest.mark.parametrize(("term", "module"), list(entries()))
def test_a_module_has_its_term_in_its_name_or_summary(term: str, module: str) -> None:
    name = module.rsplit("/", 1)[-1]
    assert words(term) in words(f"{name} {summary(ROOT / module)}")


def test_the_table_has_at_least_thirty_terms() -> None:
    assert len({term for term, _ in entries()}) >= 30
