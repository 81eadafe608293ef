"""Published studies, one package each; ``kit`` has the parts that all share, ``le`` those that two of them share."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from aqmlab._core import SpecError

if TYPE_CHECKING:
    from aqmlab.studies.kit.study import Study

_SHARED = ("kit", "le")

STUDIES = tuple(module.name for module in pkgutil.iter_modules(__path__) if module.name not in _SHARED)
"""Names of the studies. Each package has a ``STUDY``; :func:`find` imports it."""


def find(name: str) -> Study:
    """Return a study by its name.

    Raises
    ------
    SpecError
        When no study has this name.
    """
    if name not in STUDIES:
        raise SpecError(f"NAME: must be one of {', '.join(STUDIES)}, got {name!r}")
    study: Study = import_module(f"{__name__}.{name}").STUDY
    return study
