"""Links between the pages: each leads to a file that is there, and to a heading that it has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "crates/**/*.md", "examples/**/*.md", "benches/**/*.md")
    for page in ROOT.glob(pattern)
    if not {"_build", "target"} & set(page.parts)
)


@cache
def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[str]:
    for block in tokens(page):
        for token in block.children or ():
            if target := token.attrs.get("href", token.attrs.get("src")):
                yield unquote(str(target))


@cache
def anchors(page: Path) -> set[str]:
    """Return what headings are called in links, as GitHub and the site call them; those of one name are numbered."""
    names: list[str] = []
    for heading, text in zip(tokens(page), tokens(page)[1:], strict=False):
        if heading.type == "heading_open":
            plain = "".join(token.content for token in text.children or () if token.type in ("text", "code_inline"))
            name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            before = names.count(name)
            names += [name, f"{name}-{before}"] if before else [name]
    return set(names)


def is_made_from_a_record(page: Path) -> bool:
    """Return whether the page has the details of a study, which are written for the site."""
    return page.name.endswith("-details.md") and page.with_name(page.name.replace("-details.md", ".json")).exists()


def wrong(page: Path) -> Iterator[str]:
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() and not is_made_from_a_record(target):
            yield f"{link}: there is no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{link}: there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_link_leads_somewhere(page: Path) -> None:
    assert list(wrong(page)) == []


def test_a_link_to_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A *heading*: one\n\n# A heading\n\n[a](#a-heading-one) [b](page.md#none) ![c](none.svg) [d](#a-heading)\n"
    )
    assert list(wrong(page)) == ["page.md#none: there is no such heading", "none.svg: there is no such file"]
