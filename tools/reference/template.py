"""The texts of the reference pages around what the code declares."""

from __future__ import annotations

from pathlib import Path


def template(name: str) -> str:
    """Return the text of a page, with a name in braces for each part that is filled in."""
    return (Path(__file__).with_name("templates") / f"{name}.md").read_text(encoding="utf-8")
