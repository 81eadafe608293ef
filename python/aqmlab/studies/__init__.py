"""The studies there are, a module each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from aqmlab._core import SpecError

if TYPE_CHECKING:
    from aqmlab.studies.kit.study import Study

STUDIES: dict[str, str] = {
    "le2003": "le2003:Le2003",
    "le2004": "le2004:Le2004",
    "kuzmanovic2005": "kuzmanovic2005:Kuzmanovic2005",
    "rfc7928": "rfc7928:Rfc7928",
    "kwon2003": "kwon2003:Kwon2003",
}
"""Each study's class, by name, as ``module:Class``; imported when asked for."""


def find(name: str) -> Study:
    """Return a study by its name.

    Raises
    ------
    SpecError
        When there is none of this name.
    """
    if name not in STUDIES:
        raise SpecError(f"NAME: must be one of {', '.join(STUDIES)}, got {name!r}")
    module, _, cls = STUDIES[name].partition(":")
    made: Study = getattr(import_module(f"{__name__}.{module}"), cls)()
    return made
