"""Markdown as HTML for a page that stands alone, whoever wrote it.

Of HTML in the text only what folds a part away is taken for HTML, ``<details><summary>``: Markdown has no sign for it.
All other is shown as it was typed, so no text can bring a script, a style or a form, and nobody has to be trusted.
Links show their words alone, since what they lead to is not in the file; pictures are those that are given.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML

if TYPE_CHECKING:
    from markdown_it.token import Token

_FOLD = re.compile(r"<details><summary>([^<>]*)</summary>\s*")
_END = re.compile(r"</details>\s*")

_MANY = 40
"""Characters of a cell that has to have more than the room of its longest word."""


def html(text: str, pictures: Mapping[str, str]) -> str:
    r"""Return Markdown as HTML.

    Parameters
    ----------
    text
        The Markdown.
    pictures
        SVG, by where the text says that it is.

    Examples
    --------
    >>> html("*One* <b>two</b> [three](four.md)", {})
    '<p><em>One</em> &lt;b&gt;two&lt;/b&gt; three</p>\n'
    """
    parser = MarkdownIt("commonmark", renderer_cls=_Page).enable("table")
    return str(parser.render(text, {"pictures": pictures, "part": "", "open": 0}))


class _Page(RendererHTML):
    """What is written otherwise than Markdown usually is; ``env`` has the pictures, and what was last begun."""

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        env["part"] = self.renderInlineAsText(tokens[idx + 1].children, options, env)
        return self.renderToken(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        # On a phone it is wider than the page: a region of its own, which the keyboard reaches too.
        label = escapeHtml(env["part"] or "Table")
        return f'<div class="wide" tabindex="0" role="region" aria-label="{label}">\n<table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table>\n</div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<th scope="col"{_kind(tokens, idx)}>'

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<td{_kind(tokens, idx)}>"

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        label = escapeHtml(env["part"] or "Text")
        return f'<pre tabindex="0" role="region" aria-label="{label}">{escapeHtml(tokens[idx].content)}</pre>\n'

    code_block = fence

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return ""

    link_close = link_open

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        says = escapeHtml(self.renderInlineAsText(tokens[idx].children, options, env))
        picture = env["pictures"].get(str(tokens[idx].attrs["src"]))
        if picture is None:
            return says
        # As an image it can run nothing and ask for nothing, and its names meet no others.
        data = base64.b64encode(picture.encode()).decode()
        return (
            f'<span class="wide" tabindex="0" role="region" aria-label="{says}">'
            f'<img alt="{says}" src="data:image/svg+xml;base64,{data}"></span>'
        )

    def html_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        text = tokens[idx].content
        if fold := _FOLD.fullmatch(text):
            env["part"] = fold[1]
            env["open"] += 1
            return f"<details><summary>{fold[1]}</summary>\n"
        if _END.fullmatch(text) and env["open"]:
            env["open"] -= 1
            return "</details>\n"
        return f"<p>{escapeHtml(text)}</p>\n"

    def html_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return escapeHtml(tokens[idx].content)

    def render(self, tokens: Sequence[Token], options: Any, env: Any) -> str:
        # A part that was folded away ends with its text at the latest.
        return str(super().render(tokens, options, env)) + "</details>\n" * int(env["open"])


def _kind(tokens: Sequence[Token], idx: int) -> str:
    """Say of a cell that it is of a column of numbers, which are aligned to the right, or that it has many words."""
    if "right" in str(tokens[idx].attrs.get("style", "")):
        return ' class="n"'
    return ' class="long"' if len(tokens[idx + 1].content) > _MANY else ""
