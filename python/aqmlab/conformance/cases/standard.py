"""A standard: its documents, its cases, and the built-in controls that implement it."""

from __future__ import annotations

from dataclasses import dataclass

from aqmlab.conformance.case import Case


@dataclass(frozen=True)
class Standard:
    """A standard with its cases."""

    name: str
    documents: str
    """The documents, with their numbers."""
    controls: tuple[str, ...]
    """The built-in controls that are held to it by default."""
    cases: tuple[Case, ...]

    def __post_init__(self) -> None:
        names = [case.id for case in self.cases]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.name}: two cases have one name")
        for case in self.cases:
            if unknown := set(case.follows_from) - set(names):
                raise ValueError(f"{case.id}: follows from unknown cases, {', '.join(sorted(unknown))}")
