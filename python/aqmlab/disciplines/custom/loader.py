"""The modules that custom laws are in: found on ``sys.path`` and in the current directory, read anew when changed.

Python's own import would give a cached module, or one imported before its file changed; a result is to stand for the
source whose hash is beside it. So a module is run from the very bytes that were hashed.
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
from aqmlab.disciplines.custom.parameters import CustomLaw


@dataclass(frozen=True)
class Module:
    """A module as it was read from its file."""

    file: str
    digest: str
    """The hash of its source."""
    namespace: dict[str, Any]
    laws: dict[str, CustomLaw]
    """Those that were asked for so far, by class."""


_read: dict[str, Module] = {}
_loading: set[str] = set()
_may_import = True


@contextmanager
def end_imports() -> Iterator[None]:
    """Import no module inside that was not read before: its name came with what somebody else wrote."""
    global _may_import
    before, _may_import = _may_import, False
    try:
        yield
    finally:
        _may_import = before


def read(name: str) -> Module:
    """Return a module as its file is now.

    Raises
    ------
    ValueError
        When there is none of this name, or it may not be imported.
    LawError
        When it cannot be imported.
    """
    if not (_may_import or name in _read):
        raise ValueError(f"{name!r} is no discipline; custom laws run from the command line alone")
    with _current_directory_on_path():
        spec = _find_spec(name)
        if spec is None or not (spec.origin and spec.origin.endswith(".py")):
            raise ValueError(f"no module is called {name!r}: neither on sys.path nor in {Path.cwd()}")
        source = Path(spec.origin).read_bytes()
        digest = hashlib.sha256(source).hexdigest()[:16]
        known = _read.get(name)
        if known is None or (known.file, known.digest) != (spec.origin, digest):
            if name in _loading:
                raise ValueError(f'{spec.origin} runs itself when it is imported: write if __name__ == "__main__":')
            _loading.add(name)
            try:
                _read[name] = Module(spec.origin, digest, _execute(name, spec, source), {})
            finally:
                _loading.remove(name)
        return _read[name]


def exists(name: str) -> bool:
    """Say whether there is a module of this name."""
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
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        exec(compile(source, spec.origin, "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, errors.NO_MISTAKES):
            raise
        raise errors.not_imported(spec.origin, error) from error
    finally:
        known = _read.get(name)
        if before is not None and (known is None or before.__dict__ is not known.namespace):
            # Somebody else's import stays what it was.
            sys.modules[name] = before
    return module.__dict__


@contextmanager
def _current_directory_on_path() -> Iterator[None]:
    here = str(Path.cwd())
    if here in sys.path:
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        sys.path.remove(here)
