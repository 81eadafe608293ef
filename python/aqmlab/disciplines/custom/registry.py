"""The registry of custom laws by their names, ``module:Class``.

A module is reloaded when its file has changed. The hash of its source is part of the resolved spec as ``source``, so
that a changed law makes another cell. A class in a notebook or a script is used as it is, and hashed without a module.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Mapping
from typing import Any

from aqmlab._core import SpecError
from aqmlab.disciplines import catalogue, kernel
from aqmlab.disciplines.custom import loader, source
from aqmlab.disciplines.custom.law import Law
from aqmlab.disciplines.custom.parameters import CustomLaw, LawFactory

NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*"
"""The pattern of a custom law's name, ``module:Class``."""

_lock = threading.RLock()
"""The lock for loading modules: several threads prepare cells."""

_registered: dict[str, CustomLaw] = {}
"""The classes in notebooks, scripts and functions, by name."""


def is_custom(name: str) -> bool:
    """Return true if a discipline's name is that of a custom law: names of the catalogue have no colon."""
    return ":" in name


def discipline(name: str) -> catalogue.Discipline:
    """Return the entry of a discipline of the catalogue or the Linux kernel, or of a custom law.

    Raises
    ------
    ValueError
        When there is no such discipline or law.
    LawError
        When the module of a law cannot be imported.
    """
    if name == kernel.NAME:
        return kernel.DISCIPLINE
    return find(name).discipline if is_custom(name) else catalogue.discipline(name)


def from_class(law: type[Law]) -> CustomLaw:
    """Return a class as a law, or raise a ``ValueError`` with the reason why it is invalid."""
    custom = CustomLaw(f"{law.__module__}:{law.__qualname__}" if isinstance(law, type) else repr(law), law, source="")
    custom.check()
    return custom


def register(law: type[Law]) -> str:
    """Return the name of a law's class in a spec, or raise a ``ValueError`` with the reason why it is invalid.

    A class in a module can be found by its name. Of the classes in notebooks, scripts and functions, the registry keeps
    the last one of each name.
    """
    from_class(law)
    name = f"{law.__module__}:{law.__name__}"
    is_found = law.__module__ != "__main__" and law.__qualname__ == law.__name__ and exists(name)
    if not is_found:
        with _lock:
            _registered[name] = CustomLaw(name, law, source.digest(law))
    return name


def find(name: str) -> CustomLaw:
    """Return a law by its name, importing its module; errors are those of :func:`discipline`."""
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
                classes = [class_of_module for class_of_module, value in module.namespace.items() if _is_law(value)]
                hint = f"; its laws are {', '.join(classes)}" if classes else ", and no law"
                raise ValueError(f"{module.file} has no class {class_name!r}{hint}")
            custom = CustomLaw(name, law, module.digest)
            custom.check()
            module.laws[class_name] = custom
        return module.laws[class_name]


def exists(name: str) -> bool:
    """Return true if there is a module for a law of this name."""
    with _lock:
        return loader.exists(name.partition(":")[0])


def _is_law(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Law) and value is not Law


def makers(resolved: Mapping[str, Any]) -> tuple[LawFactory | None, LawFactory | None]:
    """Return the functions that make a resolved spec's laws, one per direction; ``None`` for a catalogue discipline.

    Raises
    ------
    SpecError
        When a law's source has changed since the spec was resolved.
    """
    if isinstance(resolved["link"], list):
        # Custom laws have no place in series.
        return None, None
    return _maker("queue", resolved["queue"]), _maker("queue_back", resolved.get("queue_back", resolved["queue"]))


def _maker(path: str, queue: Mapping[str, Any]) -> LawFactory | None:
    ((name, parameters),) = queue.items()
    if not is_custom(name):
        return None
    custom = find(name)
    if custom.source != parameters["source"]:
        raise SpecError(f"{path}.{name}: its source has changed since this cell was prepared")
    return custom.maker(parameters)
