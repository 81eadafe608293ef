"""Experiments from which a form starts: complete ones, and a household behind each preset of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from aqmlab import data_file
from aqmlab.console.auth import Rejected
from aqmlab.spec.capacity.link_presets import LinkPreset, presets

_HOUSEHOLD = """\
sides = ["home", "internet"]

[link]
preset = "{preset}" # its rates, delay and overhead; a key here replaces one

[users]
per_side = 10
sides = 1

[[sources]]
bulk = {{ name = "backup", flows = 1, side = "home", direction = "upload", rtt = {{ fixed = "20 ms" }} }}

[protocol]
warmup = "10 s"
duration = "60 s"
"""


@dataclass(frozen=True)
class Start:
    """An experiment from which a form starts."""

    name: str
    title: str
    schemes: tuple[str, ...]
    text: str
    """The experiment as TOML."""


@cache
def starts() -> dict[str, tuple[Start, ...]]:
    """Return the experiments by the titles of their groups."""
    written = data_file.read(files(__package__) / "experiments.toml", dict[str, tuple[Start, ...]])["experiment"]
    return {"Experiments": written, "A household behind a link": tuple(map(_household, presets()))}


def by_name(name: str) -> Start:
    """Return the experiment of this name.

    Raises
    ------
    Rejected
        When there is none.
    """
    for start in _all():
        if start.name == name:
            return start
    raise Rejected(404, "from: there is no such experiment")


def _all() -> Sequence[Start]:
    return [start for group in starts().values() for start in group]


def _household(preset: LinkPreset) -> Start:
    written = preset.name if preset.plan is None else f"{preset.name} {preset.plan}"
    title = f"{preset.about.partition(':')[0].rstrip('.')} ({written})"
    return Start(preset.name, title, ("droptail", "codel", "fq_codel"), _HOUSEHOLD.format(preset=written))
