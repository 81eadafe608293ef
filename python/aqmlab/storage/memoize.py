"""What a process does once, whichever of its threads asks first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

_Made = TypeVar("_Made")


def once(make: Callable[..., _Made]) -> Callable[..., _Made]:
    """Return a function that does its work once for each choice of arguments.

    With :func:`functools.cache` alone, threads that ask at the same time all do the work, and the last result is kept.

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
