"""The finder of custom classes by their names, ``module:Class``.

A module is reloaded when its file has changed. A class in a notebook or a script is used as it is.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, cast

from aqmlab.disciplines.custom import loader, source
from aqmlab.disciplines.custom.base import CustomClass

NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*"
"""The pattern of the name of a custom class, ``module:Class``."""

_lock = threading.RLock()
"""The lock for loading modules: several threads prepare cells."""


class Entry(Protocol):
    """The facts about a custom class."""

    def check(self) -> None:
        """Raise a ``ValueError`` when the class is invalid."""


AnyEntry = TypeVar("AnyEntry", bound=Entry)


class Finder(Generic[AnyEntry]):
    """The custom classes of one kind.

    Parameters
    ----------
    kind
        The kind in messages, such as ``law``.
    base
        The base class of the kind.
    make_entry
        Makes an entry from the name of a class, the class and the hash of its source.
    """

    def __init__(self, kind: str, base: type[CustomClass], make_entry: Callable[[str, type, str], AnyEntry]) -> None:
        self._kind = kind
        self._base = base
        self._make_entry = make_entry
        self._registered: dict[str, AnyEntry] = {}

    def from_class(self, custom: type) -> AnyEntry:
        """Return the entry of a class, or raise a ``ValueError`` with the reason why it is invalid."""
        name = f"{custom.__module__}:{custom.__qualname__}" if isinstance(custom, type) else repr(custom)
        return self._checked(self._make_entry(name, custom, ""))

    def register(self, custom: type) -> str:
        """Return the name of a class in a spec, or raise a ``ValueError`` with the reason why it is invalid.

        A class in a module can be found by its name. Of the classes in notebooks, scripts and functions, the finder
        keeps the last one of each name.
        """
        self.from_class(custom)
        name = f"{custom.__module__}:{custom.__name__}"
        is_found = custom.__module__ != "__main__" and custom.__qualname__ == custom.__name__ and exists(name)
        if not is_found:
            with _lock:
                self._registered[name] = self._make_entry(name, custom, source.digest(custom))
        return name

    def find(self, name: str) -> AnyEntry:
        """Return the entry of a class by its name, importing its module.

        Raises
        ------
        ValueError
            When there is no such class.
        LawError
            When its module cannot be imported.
        """
        if not re.fullmatch(NAME, name):
            raise ValueError(f"write a custom {self._kind} as module:Class, got {name!r}")
        module_name, _, class_name = name.partition(":")
        with _lock:
            if module_name == "__main__":
                custom = getattr(sys.modules["__main__"], class_name, None)
                if custom is not None:
                    self.register(custom)
            if name in self._registered:
                return self._registered[name]
            if module_name == "__main__":
                note = f"a {self._kind} of a notebook or script is known in it alone"
                raise ValueError(f"no class is called {class_name!r} here: {note}")
            module = loader.read(module_name)
            if class_name not in module.entries:
                custom = module.namespace.get(class_name)
                if custom is None:
                    raise ValueError(f"{module.file} has no class {class_name!r}{self._hint(module)}")
                module.entries[class_name] = self._checked(self._make_entry(name, custom, module.digest))
            return cast(AnyEntry, module.entries[class_name])

    def _hint(self, module: loader.Module) -> str:
        classes = [name for name, value in module.namespace.items() if self._is_of_kind(value)]
        return f"; its {self._kind}s are {', '.join(classes)}" if classes else f", and no {self._kind}"

    def _is_of_kind(self, value: object) -> bool:
        return isinstance(value, type) and issubclass(value, self._base) and value is not self._base

    def _checked(self, entry: AnyEntry) -> AnyEntry:
        entry.check()
        return entry


def exists(name: str) -> bool:
    """Return true if there is a module for a custom class of this name."""
    with _lock:
        return loader.exists(name.partition(":")[0])
