"""Counts in words."""

from __future__ import annotations


def pluralize(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> pluralize(1, "request"), pluralize(2_000, "request")
    ('1 request', '2,000 requests')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
