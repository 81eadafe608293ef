"""Memoization across threads: a process calls a function once for each choice of arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

_Value = TypeVar("_Value")


def memoize(function: Callable[..., _Value]) -> Callable[..., _Value]:
    """Return a function that is computed once for each choice of arguments, also by concurrent callers.

    With :func:`functools.cache` alone, concurrent threads each compute the result, and the last one is kept.

    Examples
    --------
    >>> opened = []
    >>> open_once = memoize(lambda name: opened.append(name) or name.upper())
    >>> open_once("a"), open_once("a"), opened
    ('A', 'A', ['a'])
    """
    cached, lock = cache(function), threading.Lock()

    @wraps(function)
    def wrapper(*arguments: Hashable) -> _Value:
        with lock:
            return cached(*arguments)

    return wrapper
