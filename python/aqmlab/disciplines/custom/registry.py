"""Custom laws by their names, ``module:Class``.

A module is read anew when its file has changed. The hash of its source goes into the resolved spec as ``source``, so
that a law that was changed is another cell. A class of a notebook or a script is taken as it is there, and hashed by
itself.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Mapping
from typing import Any

from aqmlab._core import SpecError
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import loader, source
from aqmlab.disciplines.custom.law import Law
from aqmlab.disciplines.custom.parameters import CustomLaw, Make

NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*"
"""What a custom law is called: ``module:Class``."""

_lock = threading.RLock()
"""Held while a module is read: cells are prepared on several threads."""

_registered: dict[str, CustomLaw] = {}
"""Classes of notebooks, scripts and functions, by name."""


def is_custom(name: str) -> bool:
    """Say whether a discipline's name is a custom law's, which no name of the catalogue looks like."""
    return ":" in name


def discipline(name: str) -> catalogue.Discipline:
    """Return what is to be known of a discipline, the catalogue's or the user's.

    Raises
    ------
    ValueError
        When there is none of this name.
    LawError
        When the user's module cannot be imported.
    """
    return find(name).discipline if is_custom(name) else catalogue.discipline(name)


def from_class(law: type[Law]) -> CustomLaw:
    """Return a class as a law; a ``ValueError`` says why it is none."""
    custom = CustomLaw(f"{law.__module__}:{law.__qualname__}" if isinstance(law, type) else repr(law), law, source="")
    custom.check()
    return custom


def register(law: type[Law]) -> str:
    """Return the name by which a class may stand in a spec; a ``ValueError`` says why it may not.

    A class of a module is found by it. One of a notebook, a script or a function is remembered, the last of each name.
    """
    from_class(law)
    name = f"{law.__module__}:{law.__name__}"
    is_found = law.__module__ != "__main__" and law.__qualname__ == law.__name__ and exists(name)
    if not is_found:
        with _lock:
            _registered[name] = CustomLaw(name, law, source.digest(law))
    return name


def find(name: str) -> CustomLaw:
    """Import a law by its name; errors are those of :func:`discipline`."""
    if not re.fullmatch(NAME, name):
        raise ValueError(f"write a custom law as module:Class, got {name!r}")
    module_name, _, class_name = name.partition(":")
    with _lock:
        if module_name == "__main__":
            law = getattr(sys.modules["__main__"], class_name, None)
            if law is not None:
                register(law)
        if name in _registered:
            return _registered[name]
        if module_name == "__main__":
            raise ValueError(
                f"no class is called {class_name!r} here: a law of a notebook or script is known in it alone"
            )
        module = loader.read(module_name)
        if class_name not in module.laws:
            law = module.namespace.get(class_name)
            if law is None:
                classes = [each for each, value in module.namespace.items() if _is_law(value)]
                there_are = f"; its laws are {', '.join(classes)}" if classes else ", and no law"
                raise ValueError(f"{module.file} has no class {class_name!r}{there_are}")
            custom = CustomLaw(name, law, module.digest)
            custom.check()
            module.laws[class_name] = custom
        return module.laws[class_name]


def exists(name: str) -> bool:
    """Say whether there is a module for a law of this name."""
    with _lock:
        return loader.exists(name.partition(":")[0])


def _is_law(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Law) and value is not Law


def makers(resolved: Mapping[str, Any]) -> tuple[Make | None, Make | None]:
    """Return what makes the laws of a resolved spec, one for each direction; ``None`` for one of the catalogue.

    Raises
    ------
    SpecError
        When a law's source is no longer the one that was resolved.
    """
    return _maker("queue", resolved["queue"]), _maker("queue_back", resolved.get("queue_back", resolved["queue"]))


def _maker(path: str, queue: Mapping[str, Any]) -> Make | None:
    ((name, parameters),) = queue.items()
    if not is_custom(name):
        return None
    custom = find(name)
    if custom.source != parameters["source"]:
        raise SpecError(f"{path}.{name}: its source has changed since this cell was prepared")
    return custom.maker(parameters)
