"""The registry of custom congestion controls by their names, ``module:Class``.

The hash of a control's source is part of the resolved spec, so that a changed control makes another cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aqmlab._core import SpecError
from aqmlab.controls.control import CongestionControl
from aqmlab.controls.entry import ControlFactory, CustomControl
from aqmlab.disciplines.custom import finder

_controls = finder.Finder("congestion control", CongestionControl, CustomControl)

_KERNEL = "kernel:"
"""The prefix of the controls of the Linux kernel, such as ``kernel:vegas``."""

_KEY, _TABLE = "congestion", "control"
"""The keys of a stack: the control's name, and its parameters."""


def is_custom(name: object) -> bool:
    """Return true for the name of a custom control: names of the engine have no colon, the kernel's a prefix."""
    return isinstance(name, str) and ":" in name and not name.startswith(_KERNEL)


def find(name: str) -> CustomControl:
    """Return a control by its name, importing its module.

    Raises
    ------
    ValueError
        When there is no such control.
    LawError
        When its module cannot be imported.
    """
    return _controls.find(name)


def with_names(tcp: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part ``tcp`` of a spec with the names of controls that are given as classes."""
    named = {**tcp, _KEY: _name_of(tcp[_KEY])} if _KEY in tcp else dict(tcp)
    if isinstance(named.get("mix"), (list, tuple)):
        named["mix"] = [with_names(entry) if isinstance(entry, Mapping) else entry for entry in named["mix"]]
    return named


def _name_of(control: object) -> object:
    return _controls.register(control) if isinstance(control, type) else control


def with_defaults(tcp: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part ``tcp`` of a spec with the defaults of custom controls and the hashes of their sources.

    Raises
    ------
    SpecError
        When a control or a parameter is not accepted.
    """
    filled: dict[str, Any] = _filled("tcp", tcp, {})
    if isinstance(tcp.get("mix"), (list, tuple)):
        entries = enumerate(tcp["mix"])
        filled["mix"] = [_filled(f"tcp.mix[{number}]", entry, filled) for number, entry in entries]
    return filled


def _filled(path: str, stack: Any, common: Mapping[str, Any]) -> Any:
    """Return a stack with its control's table; one of the mix inherits what it does not write."""
    if not isinstance(stack, Mapping):
        return stack
    inherits = _KEY not in stack and "profile" not in stack
    name = common.get(_KEY) if inherits else stack.get(_KEY)
    if not is_custom(name) or (inherits and _TABLE not in stack):
        return dict(stack)
    written = stack.get(_TABLE, {})
    if not isinstance(written, Mapping):
        raise SpecError(f"{path}.{_TABLE}: must be a table of parameters, got {written!r}")
    if inherits:
        written = {**common.get(_TABLE, {}), **written}
    try:
        control = find(str(name))
    except ValueError as error:
        raise SpecError(f"{path}.{_KEY}: {error}") from None
    return {**stack, _TABLE: control.with_defaults(f"{path}.{_TABLE}", written)}


def stacks(resolved: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the stacks of a resolved spec, the common one first."""
    yield resolved["tcp"]
    yield from resolved["tcp"].get("mix", ())


def names(resolved: Mapping[str, Any]) -> set[str]:
    """Return the names of the custom controls of a resolved spec."""
    return {stack[_KEY] for stack in stacks(resolved) if is_custom(stack.get(_KEY))}


def check_world(resolved: Mapping[str, Any], world: str) -> None:
    """Raise a ``SpecError`` when a kernel would need a custom control."""
    for name in sorted(names(resolved)):
        raise SpecError(f"tcp.{_KEY}: a custom control runs in the simulator only, and {world} has none, got {name!r}")


def makers(resolved: Mapping[str, Any]) -> list[ControlFactory | None] | None:
    """Return the makers of a resolved spec's controls, one per stack; ``None`` without custom controls.

    Raises
    ------
    SpecError
        When a control's source has changed since the spec was resolved.
    """
    return [_maker(stack) for stack in stacks(resolved)] if names(resolved) else None


def _maker(stack: Mapping[str, Any]) -> ControlFactory | None:
    if not is_custom(name := stack[_KEY]):
        return None
    control, table = find(name), stack.get(_TABLE, {})
    if control.source != table.get("source"):
        raise SpecError(f"tcp.{_KEY}: the source of {name} has changed since this cell was prepared")
    return control.maker(table)
