"""The registry of custom laws by their names, ``module:Class``.

The hash of a law's source is part of the resolved spec as ``source``, so that a changed law makes another cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aqmlab._core import SpecError
from aqmlab.disciplines import catalogue, kernel
from aqmlab.disciplines.custom import finder
from aqmlab.disciplines.custom.entry import CustomLaw, LawFactory
from aqmlab.disciplines.custom.law import Law

_laws = finder.Finder("law", Law, CustomLaw)


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
    return _laws.from_class(law)


def register(law: type[Law]) -> str:
    """Return the name of a law's class in a spec, or raise a ``ValueError`` with the reason why it is invalid."""
    return _laws.register(law)


def find(name: str) -> CustomLaw:
    """Return a law by its name, importing its module; errors are those of :func:`discipline`."""
    return _laws.find(name)


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
