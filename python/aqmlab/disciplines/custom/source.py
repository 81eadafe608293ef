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

_CONSTANT_TYPES = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))


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


def _collect(name: str, value_or_code: object, law: type, pieces: dict[str, str]) -> None:
    if name in pieces:
        return
    if isinstance(value_or_code, _CONSTANT_TYPES):
        pieces[name] = repr(value_or_code)
    elif isinstance(value_or_code, (type, FunctionType)) and value_or_code.__module__ == law.__module__:
        pieces[name] = _text(value_or_code, law)
        for dependency, value in _dependencies(value_or_code):
            _collect(dependency, value, law, pieces)


def _dependencies(owner: type | FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the objects outside a function or a class that it uses, by name."""
    if isinstance(owner, type):
        yield from ((base.__qualname__, base) for base in owner.__bases__)
        for value in vars(owner).values():
            function = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
            if isinstance(function, (type, FunctionType)) and function.__module__ == owner.__module__:
                yield from _dependencies(function)
        return
    cells = zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=True)
    yield from ((name, cell.cell_contents) for name, cell in cells)
    names = {name for code in _codes(owner.__code__) for name in code.co_names}
    yield from ((name, owner.__globals__[name]) for name in sorted(names & owner.__globals__.keys()))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _text(owner: type | FunctionType, law: type) -> str:
    try:
        return inspect.getsource(owner) if isinstance(owner, FunctionType) else _class_text(owner, law)
    except (OSError, TypeError, SyntaxError, LookupError):
        raise ValueError(
            f"{law.__name__}: the source of {owner.__qualname__} cannot be read, and its hash identifies results: write"
            " it into a file or a notebook"
        ) from None


def _class_text(owner: type, law: type) -> str:
    """Return the source of a class. In a notebook only its methods know their file."""
    text = "".join(linecache.getlines(_file(owner) or _file(law) or ""))
    nodes = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == owner.__name__
    ]
    return ast.get_source_segment(text, nodes[-1]) or ""


def _file(owner: type) -> str | None:
    """Return the file, or the cell of a notebook, of a class's methods or of those inherited in its module."""
    for base in owner.__mro__:
        for value in vars(base).values() if base.__module__ == owner.__module__ else ():
            if isinstance(value, FunctionType) and linecache.getlines(value.__code__.co_filename):
                return value.__code__.co_filename
    return None
