"""Memoization across threads: a process calls a function once for each choice of arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

_Made = TypeVar("_Made")


def once(make: Callable[..., _Made]) -> Callable[..., _Made]:
    """Return a function that is computed once for each choice of arguments, also by concurrent callers.

    With :func:`functools.cache` alone, concurrent threads each compute the result, and the last one is kept.

    Examples
    --------
    >>> opened = []
    >>> open_once = once(lambda name: opened.append(name) or name.upper())
    >>> open_once("a"), open_once("a"), opened
    ('A', 'A', ['a'])
    """
    made, one_at_a_time = cache(make), threading.Lock()

    @wraps(make)
    def find_or_make(*given: Hashable) -> _Made:
        with one_at_a_time:
            return made(*given)

    return find_or_make
