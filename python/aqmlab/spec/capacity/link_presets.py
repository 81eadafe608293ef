"""Presets of links by their technology: values for a link's table, each with its source."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from aqmlab import data_file
from aqmlab._core import SpecError

KEY = "preset"

UP_RATE, DOWN_RATE = "rate up", "rate down"
"""The texts that stand for the rates of a plan in the values of a preset."""


@dataclass(frozen=True)
class Plan:
    """The rates that a provider sells, in Mbit/s."""

    down: float
    up: float

    def __str__(self) -> str:
        return f"{self.down:g}" if self.down == self.up else f"{self.down:g}/{self.up:g}"


@dataclass(frozen=True)
class Value:
    """A value of a preset."""

    key: str
    """The key of the link's table."""
    value: Any
    source: str


@dataclass(frozen=True)
class LinkPreset:
    """The values of a link of one technology."""

    name: str
    about: str
    values: tuple[Value, ...]
    leaves_out: str
    """The properties of such links that the values lack."""
    plan: Plan | None = None
    """The rates where a spec writes none; ``None`` if the technology has no plans."""
    fastest: Plan | None = None
    """The highest rates of a plan."""
    payload: Fraction = Fraction(1)
    """The share of a plan's rate that is left for frames."""

    @cached_property
    def sources(self) -> dict[str, str]:
        """The source of each value, by its key."""
        return {value.key: value.source for value in self.values}

    def filled(self, plan: Plan | None) -> dict[str, Any]:
        """Return the values by their keys, with the rates of a plan."""
        return {value.key: self._with_rates(value.value, plan) for value in self.values}

    def _with_rates(self, value: Any, plan: Plan | None) -> Any:
        if isinstance(value, Mapping):
            return {key: self._with_rates(inner, plan) for key, inner in value.items()}
        if value in (UP_RATE, DOWN_RATE) and plan is not None:
            mbps = plan.up if value == UP_RATE else plan.down
            return f"{round(Fraction(mbps) * 1_000_000 * self.payload)} bit/s"
        return value


@cache
def presets() -> tuple[LinkPreset, ...]:
    """Return every preset, as ``link-presets.toml`` declares them."""
    return data_file.read(files(__package__) / "link-presets.toml", dict[str, tuple[LinkPreset, ...]])["preset"]


def add_key(definitions: Mapping[str, Any]) -> None:
    """Add the key that only Python reads to a schema's definitions."""
    definitions["Link"]["properties"][KEY] = {
        "type": "string",
        "description": "The preset whose values hold where the link writes none, with the rates of a plan in Mbit/s,"
        ' down and up, where it has plans: `"docsis-3.1 250/25"`. See docs/reference/link-presets.md.',
    }


def find(written: object, path: str) -> tuple[LinkPreset, Plan | None]:
    """Return the preset of a text such as ``docsis-3.1 250/25``, and the plan.

    Parameters
    ----------
    written
        The value of the key ``preset``.
    path
        Its path in the spec, for messages.

    Raises
    ------
    SpecError
        When there is no such preset, or it has no such plan.

    Examples
    --------
    >>> preset, plan = find("vdsl2 100/40", "link.preset")
    >>> preset.filled(plan)["rate"]
    {'up': '39384615 bit/s', 'down': '98461538 bit/s'}
    """
    names = [preset.name for preset in presets()]
    if not isinstance(written, str):
        raise SpecError(f"{path}: must be a text such as {names[0]!r}, got {written!r}")
    name, rates = written, None
    if written not in names and (match := re.fullmatch(r"(.*\S)\s+([\d./]+)", written)):
        name, rates = match.groups()
    preset = next((preset for preset in presets() if preset.name == name), None)
    if preset is None:
        similar = difflib.get_close_matches(name, names, n=1)
        hint = f" (did you mean {similar[0]!r}?)" if similar else ""
        raise SpecError(f"{path}: must be one of {', '.join(names)}{hint}, got {written!r}")
    return preset, preset.plan if rates is None else _plan(preset, rates, path)


def _plan(preset: LinkPreset, rates: str, path: str) -> Plan:
    if preset.plan is None or preset.fastest is None:
        raise SpecError(f"{path}: {preset.name} has no plans, got {rates!r}")
    try:
        down, *up = map(float, rates.split("/"))
        plan = Plan(down, *(up or [down]))
    except (ValueError, TypeError):
        raise SpecError(f"{path}: expected rates down and up such as {preset.plan}, got {rates!r}") from None
    most = preset.fastest
    if not (0 < plan.down <= most.down and 0 < plan.up <= most.up):
        raise SpecError(f"{path}: must be above 0 and at most {most} Mbit/s, got {rates}")
    return plan


def missing_values(link: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the values of the preset of a link that its table does not write; without a preset none."""
    if link.get(KEY) is None:
        return {}
    preset, plan = find(link[KEY], f"{path}.{KEY}")
    missing = {key: value for key, value in preset.filled(plan).items() if key not in link}
    if not missing:
        raise SpecError(f"{path}.{KEY}: has no effect: the link writes each of its values, got {link[KEY]!r}")
    return missing
