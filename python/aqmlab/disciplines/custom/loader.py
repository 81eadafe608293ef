"""The loader of the modules of custom classes, from ``sys.path`` and the current directory; a changed file is reloaded.

Python's own import may return a module from before its file changed. A result must belong to the source whose hash is
stored with it, so that the loader executes the same bytes that it hashes.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

from aqmlab.disciplines.custom import errors


@dataclass(frozen=True)
class Module:
    """A module as read from its file."""

    file: str
    digest: str
    """The hash of its source."""
    namespace: dict[str, Any]
    entries: dict[str, object]
    """The entries of the classes that were requested so far, by class name."""


_read: dict[str, Module] = {}
_loading: set[str] = set()
_may_import = True


@contextmanager
def end_imports() -> Iterator[None]:
    """Refuse to import further modules in the block, in which names come from untrusted input."""
    global _may_import
    previous, _may_import = _may_import, False
    try:
        yield
    finally:
        _may_import = previous


def read(name: str) -> Module:
    """Return a module, reloaded if its file has changed.

    Raises
    ------
    ValueError
        When there is no such module, or it may not be imported.
    LawError
        When it cannot be imported.
    """
    if not (_may_import or name in _read):
        raise ValueError(
            f"{name!r} is not built in; custom laws run from the command line alone, and so do congestion controls"
        )
    with _current_directory_on_path():
        spec = _find_spec(name)
        if spec is None or not (spec.origin and spec.origin.endswith(".py")):
            raise ValueError(f"no module is called {name!r}: neither on sys.path nor in {Path.cwd()}")
        source = Path(spec.origin).read_bytes()
        digest = hashlib.sha256(source).hexdigest()[:16]
        loaded = _read.get(name)
        if loaded is None or (loaded.file, loaded.digest) != (spec.origin, digest):
            if name in _loading:
                raise ValueError(f'{spec.origin} runs itself when it is imported: write if __name__ == "__main__":')
            _loading.add(name)
            try:
                _read[name] = Module(spec.origin, digest, _execute(name, spec, source), {})
            finally:
                _loading.remove(name)
        return _read[name]


def exists(name: str) -> bool:
    """Return true if there is a module of this name."""
    if not _may_import:
        return name in _read
    with _current_directory_on_path():
        return _find_spec(name) is not None


def _find_spec(name: str) -> ModuleSpec | None:
    parent, _, _ = name.rpartition(".")
    importlib.invalidate_caches()
    try:
        path = list(importlib.import_module(parent).__path__) if parent else None
    except (ImportError, AttributeError):
        return None
    return PathFinder.find_spec(name, path)


def _execute(name: str, spec: ModuleSpec, source: bytes) -> dict[str, Any]:
    assert spec.origin is not None, "a module with a file"
    module = module_from_spec(spec)
    previous = sys.modules.get(name)
    sys.modules[name] = module
    try:
        exec(compile(source, spec.origin, "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, errors.CONTROL_EXCEPTIONS):
            raise
        raise errors.import_error(spec.origin, error) from error
    finally:
        loaded = _read.get(name)
        if previous is not None and (loaded is None or previous.__dict__ is not loaded.namespace):
            # Restore a module that other code has imported.
            sys.modules[name] = previous
    return module.__dict__


@contextmanager
def _current_directory_on_path() -> Iterator[None]:
    directory = str(Path.cwd())
    if directory in sys.path:
        yield
        return
    sys.path.append(directory)
    try:
        yield
    finally:
        sys.path.remove(directory)
