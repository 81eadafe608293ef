"""Registered claims: the first reading of a paper, written before any result and frozen as data.

The ``registered.json`` of a study has the claims, the meaning of their words in numbers, and the outcomes with the
results number that decided them. :mod:`~aqmlab.studies.kit.claims.review` decides the second reading.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from aqmlab.studies.kit.findings import Outcome


@dataclass(frozen=True, kw_only=True)
class RegisteredClaim:
    """A claim as it was registered, with its outcome."""

    id: str
    place: str
    """Paper, with section, page or figure."""
    gist: str
    """The claim in our words."""
    predicate: str
    """The exact predicate as text."""
    outcome: Outcome
    evidence: str
    """The numbers that decided it."""


@dataclass(frozen=True, kw_only=True)
class Registration:
    """The registered claims of a study."""

    results: int = 0
    """The results number of the cells that decided them."""
    length: str = ""
    """The length of those cells, and their seeds."""
    words: str = ""
    """The meaning of the claims' words in numbers, as Markdown."""
    claims: tuple[RegisteredClaim, ...] = ()
    in_dictionary: bool = False
    """True if the predicates are those of the second reading, in the words of the dictionary."""


@cache
def registration(package: str) -> Registration:
    """Read the registered claims of a study's package; there are none without the file."""
    file = files(package).joinpath("registered.json")
    if not file.is_file():
        return Registration()
    read = json.loads(file.read_text(encoding="utf-8"))
    claims = (RegisteredClaim(**{**claim, "outcome": Outcome(claim["outcome"])}) for claim in read.pop("claims"))
    return Registration(claims=tuple(claims), **read)
