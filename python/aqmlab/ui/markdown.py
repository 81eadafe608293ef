"""Conversion of untrusted Markdown to HTML for a self-contained page.

Of HTML in the text, only ``<details><summary>`` is interpreted, for which Markdown has no syntax. All other HTML is
escaped, so that a text cannot contain scripts, styles or forms. Links become plain text, because their targets are not
in the file. Pictures come from the caller.
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

_DETAILS = re.compile(r"<details><summary>([^<>]*)</summary>\s*")
_END = re.compile(r"</details>\s*")

_LONG_CELL = 40
"""The number of characters from which a table cell gets the class ``long``."""


def html(text: str, pictures: Mapping[str, str]) -> str:
    r"""Return Markdown as HTML.

    Parameters
    ----------
    text
        The Markdown.
    pictures
        SVG images, by their path in the text.

    Examples
    --------
    >>> html("*One* <b>two</b> [three](four.md)", {})
    '<p><em>One</em> &lt;b&gt;two&lt;/b&gt; three</p>\n'
    """
    parser = MarkdownIt("commonmark", renderer_cls=_Page).enable("table")
    return str(parser.render(text, {"pictures": pictures, "part": "", "open": 0}))


class _Page(RendererHTML):
    """The renderer with the differences from plain Markdown; ``env`` has the pictures and the current heading."""

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        env["part"] = self.renderInlineAsText(tokens[idx + 1].children, options, env)
        return self.renderToken(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        # On a phone a table is wider than the page: make it a scrollable region that the keyboard reaches.
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
        label = escapeHtml(self.renderInlineAsText(tokens[idx].children, options, env))
        picture = env["pictures"].get(str(tokens[idx].attrs["src"]))
        if picture is None:
            return label
        # As an image, SVG can neither run scripts nor load files, and its ids do not collide with others.
        data = base64.b64encode(picture.encode()).decode()
        return (
            f'<span class="wide" tabindex="0" role="region" aria-label="{label}">'
            f'<img alt="{label}" src="data:image/svg+xml;base64,{data}"></span>'
        )

    def html_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        text = tokens[idx].content
        if details := _DETAILS.fullmatch(text):
            env["part"] = details[1]
            env["open"] += 1
            return f"<details><summary>{details[1]}</summary>\n"
        if _END.fullmatch(text) and env["open"]:
            env["open"] -= 1
            return "</details>\n"
        return f"<p>{escapeHtml(text)}</p>\n"

    def html_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return escapeHtml(tokens[idx].content)

    def render(self, tokens: Sequence[Token], options: Any, env: Any) -> str:
        # Close sections that the text leaves open.
        return str(super().render(tokens, options, env)) + "</details>\n" * int(env["open"])


def _kind(tokens: Sequence[Token], idx: int) -> str:
    """Return the class attribute of a cell: ``n`` for numbers, which are right-aligned, or ``long`` for long text."""
    if "right" in str(tokens[idx].attrs.get("style", "")):
        return ' class="n"'
    return ' class="long"' if len(tokens[idx + 1].content) > _LONG_CELL else ""
