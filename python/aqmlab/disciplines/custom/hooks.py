"""The methods of a law that the engine calls, and mistakes in their names, which would leave them uncalled."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from types import CodeType, FunctionType

from aqmlab.disciplines.custom.law import Law

HOOKS = ("on_enqueue", "on_dequeue", "on_overflow", "on_empty", "on_timeout", "probe", "next_timeout")

_LIKE = 0.8
"""How much alike two names are of which one is the other misspelt, from 0 to 1."""


def misspelt_hooks(law: type[Law]) -> str:
    """Say which public method is nearly called as a hook that the law does not have; nothing where none is."""
    own = _own(law)
    lacking = {_plain(hook): hook for hook in HOOKS if hook not in own}
    for name, value in own.items():
        if callable(value) and not name.startswith("_") and name not in HOOKS:
            near = difflib.get_close_matches(_plain(name), lacking, n=1, cutoff=_LIKE)
            # A method of the law's own may be called prob.
            if near and (near[0] != "probe" or name.startswith("probe")):
                return f"{name} is never called: did you mean {lacking[near[0]]}? A method of your own begins with _"
    return ""


def lacks_timeout(law: type[Law]) -> bool:
    """Whether there is an ``on_timeout`` that nothing in the law or its module asks for."""
    own = _own(law)
    if "on_timeout" not in own or "next_timeout" in own:
        return False
    names = {name for each in law.__mro__ if issubclass(each, Law) and each is not Law for name in _names_in(each)}
    return "next_timeout" not in names


def _own(law: type) -> dict[str, object]:
    """Return what a law has beside the base class."""
    classes = [each for each in reversed(law.__mro__) if each not in Law.__mro__]
    return {name: value for each in classes for name, value in vars(each).items()}


def _plain(name: str) -> str:
    """Leave out what ``on_enqueue`` and ``onEnqueue`` differ in."""
    return name.replace("_", "").lower()


def _names_in(law: type) -> Iterator[str]:
    """Yield all names and texts in the code of a class and of the functions of its module."""
    functions = [each for each in vars(law).values() if isinstance(each, FunctionType)]
    beside = functions[0].__globals__.values() if functions else ()
    for function in (*functions, *(each for each in beside if isinstance(each, FunctionType))):
        yield from _in_code(function.__code__)


def _in_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _in_code(constant)
        elif isinstance(constant, str):
            yield constant
