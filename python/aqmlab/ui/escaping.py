"""Escaping of control characters in text for a terminal: names in specs and stores may be malicious."""

from __future__ import annotations

import re
from typing import Any

_CONTROL = re.compile(
    # Control characters other than tab and newline; characters that change the direction of text; lone surrogates.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Replace control characters by Python's escapes, such as ``\x1b``; tabs and newlines stay.

    Examples
    --------
    >>> visible("codel\x1b[31m")
    'codel\\x1b[31m'
    """
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


class VisibleStream:
    """A stream that escapes control characters by :func:`visible`."""

    def __init__(self, stream: Any) -> None:
        self.rich_proxied_file = stream
        """The stream to which rich writes directly, because :class:`Terminal` has escaped its text."""

    def write(self, text: str) -> int:
        """Write a text."""
        self.rich_proxied_file.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)
