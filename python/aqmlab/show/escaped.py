"""Text that a terminal shows and never obeys: names come from specs, files and stores of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_CONTROL = re.compile(
    # Control characters but tab and newline; marks that change the direction of text; halves of characters.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Write control characters as Python writes them, such as ``\x1b``; tabs and newlines stay.

    Examples
    --------
    >>> visible("codel\x1b[31m")
    'codel\\x1b[31m'
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


class Terminal(Console):
    """A rich console that obeys its own control sequences alone, and shows those of what it prints."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of what is printed."""
        for segment in super().render(renderable, options):
            if segment.control is None and _CONTROL.search(segment.text):
                yield Segment(visible(segment.text), segment.style)
            else:
                yield segment


class VisibleStream:
    """Standard output that writes control characters as :func:`visible` does."""

    def __init__(self, stream: Any) -> None:
        self.rich_proxied_file = stream
        """Where rich writes instead: it takes care of itself."""

    def write(self, text: str) -> int:
        """Write a text."""
        self.rich_proxied_file.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)
