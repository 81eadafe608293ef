"""A standard: its documents, its cases, and the built-in controls that implement it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any, TypeVar

from aqmlab import data_file
from aqmlab.conformance.case import Bounds, Case, Upon, about, at_least, at_most, exactly
from aqmlab.conformance.scenario import one_flow
from aqmlab.conformance.trace import Measure

Value = TypeVar("Value")


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


@dataclass(frozen=True, kw_only=True)
class _WrittenCase:
    """A case as the file of a standard has it: with one of four bounds, and the name of a scenario."""

    clause: str
    level: str
    demand: str
    quantity: str
    scenario: str
    reason: str = ""
    equals: float | None = None
    about: float | str | None = None
    """A number, or the name of a value."""
    tolerance: float = 0.0
    at_least: float | None = None
    at_most: float | None = None
    follows_from: tuple[str, ...] = ()
    upon: Upon | None = None

    def bounds(self, values: Mapping[str, float]) -> Bounds:
        """Return the bounds; ``values`` are those that have names."""
        if self.equals is not None:
            return exactly(self.equals)
        if self.about is not None:
            value = _known(values, self.about, "about") if isinstance(self.about, str) else self.about
            return about(value, self.tolerance, self.reason)
        if self.at_least is not None:
            return at_least(self.at_least, self.reason)
        if self.at_most is not None:
            return at_most(self.at_most, self.reason)
        raise ValueError("must have equals, about, at_least or at_most, got none")


def _known(values: Mapping[str, Value], name: str, place: str) -> Value:
    if name not in values:
        raise ValueError(f"{place}: must be one of {', '.join(values)}, got {name}")
    return values[name]


@dataclass(frozen=True, kw_only=True)
class _WrittenStandard:
    documents: str
    controls: tuple[str, ...]
    case: Mapping[str, _WrittenCase]
    scenario: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments of :func:`~aqmlab.conformance.scenario.one_flow`."""


def read_standard(
    name: str,
    measures: Mapping[str, Measure],
    *,
    values: Mapping[str, float] = MappingProxyType({}),
    scenarios: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    further: Iterable[Case] = (),
) -> Standard:
    """Return a standard whose cases are in the TOML file of its name.

    Parameters
    ----------
    name
        The name of the standard.
    measures
        The measure of each case, by its id.
    values
        Values of the standard that the file names.
    scenarios
        Scenarios that the file names and does not contain.
    further
        Cases that are computed; they are the last ones.
    """
    written = data_file.read(files(__package__) / f"{name}.toml", _WrittenStandard)
    flows = {key: one_flow(**arguments) for key, arguments in written.scenario.items()} | dict(scenarios)
    cases = (
        Case(
            id=id_,
            clause=case.clause,
            level=case.level,
            demand=case.demand,
            quantity=case.quantity,
            expected=case.bounds(values),
            scenario=_known(flows, case.scenario, f"{id_}: scenario"),
            measure=_known(measures, id_, f"{id_}: measure"),
            follows_from=case.follows_from,
            upon=case.upon,
        )
        for id_, case in written.case.items()
    )
    return Standard(name, written.documents, written.controls, (*cases, *further))
