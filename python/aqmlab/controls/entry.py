"""The entry of a custom congestion control: its checks, its parameters, and the factory of its instances."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args, get_type_hints

from aqmlab._core import Connection, SpecError
from aqmlab.controls.control import CongestionControl
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import errors, hooks
from aqmlab.disciplines.custom.parameters import Parameters

ControlFactory = Callable[[Connection], object]
"""Makes the control of one connection."""

HOOKS = ("on_delivery", "on_ack", "on_loss", "on_recovered", "on_rto", "on_spurious", "on_mark", "on_idle")
"""The methods that the engine calls."""

_MARKS = get_args(get_args(get_type_hints(CongestionControl)["marks"])[0])

_RESERVED = {
    "marks": "it is the class attribute marks",
    "source": "it is the hash of the module",
}
"""Reserved names of parameters, with the reasons."""


@dataclass(frozen=True)
class CustomControl:
    """A control's class with its name and the hash of its source."""

    name: str
    """The name in the form ``module:Class``."""
    control: type[CongestionControl]
    source: str
    """The hash of its module's source, or of its own source without a module; empty if nothing is stored."""

    def _parameters_at(self, path: str) -> Parameters:
        return Parameters(self.name, self.control, path, _RESERVED)

    def check(self) -> None:
        """Raise a ``ValueError`` when the class is not a valid control."""
        control = self.control
        if not (isinstance(control, type) and issubclass(control, CongestionControl)):
            raise ValueError(f"{self.name} must be a class derived from aqmlab.CongestionControl, got {control!r}")
        if misspelt_hooks := hooks.misspelt_hooks(control, CongestionControl, HOOKS):
            raise ValueError(f"{self.name}: {misspelt_hooks}")
        for method in ("on_ack", "on_loss"):
            if getattr(control, method) is getattr(CongestionControl, method):
                raise ValueError(f"{self.name} needs the method {method}")
        if control.marks not in _MARKS:
            raise ValueError(f"{self.name}: marks must be one of {', '.join(_MARKS)}, got {control.marks!r}")
        if control.marks != "echoed" and control.on_mark is not CongestionControl.on_mark:
            raise ValueError(f"{self.name}: on_mark is never called with marks = {control.marks!r}: read ack.marked")
        self.parameters.check()

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters, in messages about the common stack."""
        return self._parameters_at("tcp.control")

    def with_defaults(self, path: str, written: Mapping[str, Any]) -> dict[str, Any]:
        """Return the table at ``path`` with all defaults, the response to marks, and the hash of the source.

        Raises
        ------
        SpecError
            When there is no such parameter, or a value is not accepted.
        """
        parameters = self._parameters_at(path)
        names = [entry.name for entry in parameters.entries]
        for name in written:
            if name not in (*names, *_RESERVED):
                known = f"it has {', '.join(names)}" if names else "it has none"
                raise SpecError(f"{path}: {self.name} has no parameter {name!r}{catalogue.hint(name, names)}; {known}")
        for name, value in (("marks", self.control.marks), ("source", self.source)):
            if written.get(name, value) != value:
                raise SpecError(f"{path}.{name}: must be left out: {_RESERVED[name]}, got {written[name]!r}")
        return {**parameters.values(written), "marks": self.control.marks, "source": self.source}

    def maker(self, table: Mapping[str, Any]) -> ControlFactory:
        """Return a function that makes a control with these parameters."""
        config = self.parameters.configure(table)

        def make(connection: Connection) -> object:
            try:
                # Each connection has a Config of its own, because a control may change it.
                return self.control(copy.copy(config), connection)
            except errors.CONTROL_EXCEPTIONS:
                raise
            except BaseException as error:
                raise errors.raised(self.control, "__init__", error) from error

        return make
