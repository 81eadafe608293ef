"""A rich console for untrusted text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from aqmlab.ui.escaping import visible


class Terminal(Console):
    """A rich console that escapes control sequences in the text that it prints."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of a renderable, escaped."""
        for segment in super().render(renderable, options):
            if segment.control is None and visible(segment.text) != segment.text:
                yield Segment(visible(segment.text), segment.style)
            else:
                yield segment
