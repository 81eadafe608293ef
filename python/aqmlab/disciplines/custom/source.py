"""The source hash of a class outside a module: in a notebook, a script or a function.

The hash identifies the class in a spec. It covers the class, and recursively the functions, classes and plain values
that the class uses from its surroundings.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType

_PLAIN = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))


def digest(law: type) -> str:
    """Return the hash of a class's source and of everything that it uses.

    Raises
    ------
    ValueError
        When the source cannot be read.
    """
    pieces: dict[str, str] = {}
    _collect(law.__qualname__, law, law, pieces)
    return hashlib.sha256(json.dumps(sorted(pieces.items())).encode()).hexdigest()[:16]


def _collect(name: str, thing: object, law: type, pieces: dict[str, str]) -> None:
    if name in pieces:
        return
    if isinstance(thing, _PLAIN):
        pieces[name] = repr(thing)
    elif isinstance(thing, (type, FunctionType)) and thing.__module__ == law.__module__:
        pieces[name] = _text(thing, law)
        for used, value in _used(thing):
            _collect(used, value, law, pieces)


def _used(thing: type | FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the objects outside a function or a class that it uses, by name."""
    if isinstance(thing, type):
        yield from ((base.__qualname__, base) for base in thing.__bases__)
        for value in vars(thing).values():
            function = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
            if isinstance(function, (type, FunctionType)) and function.__module__ == thing.__module__:
                yield from _used(function)
        return
    cells = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True)
    yield from ((name, cell.cell_contents) for name, cell in cells)
    names = {name for code in _codes(thing.__code__) for name in code.co_names}
    yield from ((name, thing.__globals__[name]) for name in sorted(names & thing.__globals__.keys()))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _text(thing: type | FunctionType, law: type) -> str:
    try:
        return inspect.getsource(thing) if isinstance(thing, FunctionType) else _class_text(thing, law)
    except (OSError, TypeError, SyntaxError, LookupError):
        raise ValueError(
            f"{law.__name__}: the source of {thing.__qualname__} cannot be read, and its hash identifies results: write"
            " it into a file or a notebook"
        ) from None


def _class_text(thing: type, law: type) -> str:
    """Return the source of a class. In a notebook only its methods know their file."""
    text = "".join(linecache.getlines(_file(thing) or _file(law) or ""))
    found = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == thing.__name__
    ]
    return ast.get_source_segment(text, found[-1]) or ""


def _file(thing: type) -> str | None:
    """Return the file, or the cell of a notebook, of a class's methods or of those inherited in its module."""
    for each in thing.__mro__:
        for value in vars(each).values() if each.__module__ == thing.__module__ else ():
            if isinstance(value, FunctionType) and linecache.getlines(value.__code__.co_filename):
                return value.__code__.co_filename
    return None
