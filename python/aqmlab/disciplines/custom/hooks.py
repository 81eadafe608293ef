"""Checks of the hooks of custom classes, the methods that the engine calls: a misspelt one would never be called."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from types import CodeType, FunctionType

from aqmlab.disciplines.custom.law import Law

HOOKS = ("on_enqueue", "on_dequeue", "on_overflow", "on_empty", "on_timeout", "probe", "next_timeout")
"""The hooks of a law."""

_SIMILARITY = 0.8
"""The similarity of two names, from 0 to 1, from which one counts as a misspelling of the other."""


def misspelt_hooks(custom: type, base: type, hooks: Collection[str] = HOOKS) -> str:
    """Return a message about a public method whose name resembles a missing hook; an empty text without one."""
    attributes = _own_attributes(custom, base)
    missing_hooks = {_normalize(hook): hook for hook in hooks if hook not in attributes}
    for name, value in attributes.items():
        if callable(value) and not name.startswith("_") and name not in hooks:
            similar = difflib.get_close_matches(_normalize(name), missing_hooks, n=1, cutoff=_SIMILARITY)
            # prob is a likely name of a law's own method.
            if similar and (similar[0] != "probe" or name.startswith("probe")):
                return (
                    f"{name} is never called: did you mean {missing_hooks[similar[0]]}?"
                    " Start the name of your own method with _"
                )
    return ""


def lacks_timeout(law: type[Law]) -> bool:
    """Return true if a law has ``on_timeout``, but nothing in the law or its module sets ``next_timeout``."""
    attributes = _own_attributes(law, Law)
    if "on_timeout" not in attributes or "next_timeout" in attributes:
        return False
    names = {name for base in law.__mro__ if issubclass(base, Law) and base is not Law for name in _names_in(base)}
    return "next_timeout" not in names


def _own_attributes(custom: type, base: type) -> dict[str, object]:
    """Return the attributes of a class that its base class in aqmlab lacks."""
    classes = [each for each in reversed(custom.__mro__) if each not in base.__mro__]
    return {name: value for each in classes for name, value in vars(each).items()}


def _normalize(name: str) -> str:
    """Normalize a name, so that ``on_enqueue`` and ``onEnqueue`` are equal."""
    return name.replace("_", "").lower()


def _names_in(law: type) -> Iterator[str]:
    """Yield all names and strings in the code of a class and of the functions of its module."""
    functions = [item for item in vars(law).values() if isinstance(item, FunctionType)]
    module_values = functions[0].__globals__.values() if functions else ()
    for function in (*functions, *(item for item in module_values if isinstance(item, FunctionType))):
        yield from _in_code(function.__code__)


def _in_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _in_code(constant)
        elif isinstance(constant, str):
            yield constant
