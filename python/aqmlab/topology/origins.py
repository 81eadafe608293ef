"""The values of an experiment that its spec does not write, with their origins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab.disciplines.custom import registry
from aqmlab.spec import testbeds
from aqmlab.spec.capacity import link_presets
from aqmlab.spec.experiment import Experiment

DEFAULT = "default"


@dataclass(frozen=True)
class DefaultValue:
    """A value that the spec does not write."""

    path: str
    """Its path in a spec."""
    value: Any
    origin: str
    """Its origin: ``default``, a preset, a testbed, a TCP profile, or other values of the spec."""


def default_values(experiment: Experiment, resolved: Mapping[str, Any]) -> list[DefaultValue]:
    """Return the unwritten values in the order of the resolved spec, those of TCP profiles last.

    Parameters
    ----------
    experiment
        The experiment as written.
    resolved
        Its resolved spec.
    """
    origins = _Origins(experiment, resolved)
    values = [
        DefaultValue(
            path,
            getattr(experiment.users, path.partition(".")[2]) if path in _NAMED else value,
            origins.origin_of(path),
        )
        for path, value in _leaves(resolved, "")
        if not origins.is_set_in_spec(path) and not _is_of_absent_users(path, resolved)
    ]
    return sorted(values, key=lambda value: value.origin.startswith(_PROFILE))


_PROFILE = "profile "
_NAMED = ("users.workload", "users.rtt")
"""The tables that a spec can give by name."""


class _Origins:
    """Finds the origin of a value."""

    def __init__(self, experiment: Experiment, resolved: Mapping[str, Any]) -> None:
        self.set_paths = {path for path, _ in _leaves(experiment.explicit_values, "")}
        self.resolved = resolved
        self.presets = [
            None if link.preset is None else link_presets.find(link.preset, "link.preset")[0]
            for link in experiment.links
        ]
        self.testbed = None if experiment.testbed is None else testbeds.find(experiment.testbed)

    def is_set_in_spec(self, path: str) -> bool:
        """Return true if a path is written, also in a shorter form: ``size = "12 kB"`` for ``size.fixed``."""
        return any(
            path[:end] in self.set_paths for end in range(1, len(path) + 1) if path[end : end + 1] in ("", ".", "[")
        )

    def origin_of(self, path: str) -> str:
        if origin := self._preset_origin(path) or self._testbed_origin(path):
            return origin
        table, _, key = path.partition(".")
        if path == "users.per_side":
            return self._users_origin()
        if table == "tcp" and key != "profile":
            return _PROFILE + self._profile(key)
        if path == "hosts.rate":
            return "ten times the fastest link, at least 1 Gbit/s"
        if table.startswith("sources["):
            return self._source_origin(key)
        if table.startswith("link["):
            return self._hop_origin(table, key)
        return self._queue_origin(path) if table in ("queue", "queue_back") else DEFAULT

    def _preset_origin(self, path: str) -> str | None:
        """Return the preset of the link that a path is in, with the source of the value."""
        match = re.match(r"link(?:\[(\d+)\])?\.(\w+)", path)
        if match is None or (preset := self.presets[int(match[1] or 0)]) is None or match[2] not in preset.sources:
            return None
        return f"preset {preset.name}: {preset.sources[match[2]]}"

    def _testbed_origin(self, path: str) -> str | None:
        if self.testbed is None or path not in self.testbed.sources:
            return None
        return f"testbed {self.testbed.name}: {self.testbed.sources[path]}"

    def _users_origin(self) -> str:
        if "users.load" in self.set_paths:
            return "users.load"
        if self.testbed is not None and "users.load" in self.testbed.sources:
            load = self.testbed.tables["users"]["load"]
            return f"testbed {self.testbed.name}: {load:g} % load, {self.testbed.sources['users.load']}"
        return DEFAULT

    def _profile(self, key: str) -> str:
        if not key.startswith("mix["):
            return str(self.resolved["tcp"]["profile"])
        entry = self.resolved["tcp"]["mix"][int(key[len("mix[") : key.index("]")])]
        return str(entry["profile"])

    def _source_origin(self, key: str) -> str:
        name = key.partition(".")[2]
        if name == "delay_at":
            return "users.delay_at"
        if name != "interface":
            return DEFAULT
        is_set = "hosts.rate" in self.set_paths or (self.testbed is not None and "hosts.rate" in self.testbed.sources)
        return "hosts.rate" if is_set else "ten times the fastest link on its path, at least 1 Gbit/s"

    def _hop_origin(self, table: str, key: str) -> str:
        if not key.startswith("queue"):
            return self._testbed_origin(f"link.{key}") or DEFAULT
        has_own_queue = any(path.startswith(f"{table}.queue.") for path in self.set_paths)
        return self._queue_origin(key) if has_own_queue else "queue"

    def _queue_origin(self, path: str) -> str:
        table, discipline, *names = path.split(".", 2)
        if not names or registry.is_custom(discipline):
            return DEFAULT
        if f"queue.{discipline}.{names[0]}" in self.set_paths:
            return f"queue.{discipline}.{names[0]}"
        parameters = {parameter.name: parameter for parameter in registry.discipline(discipline).parameters}
        parameter = parameters.get(names[0].partition("[")[0])
        if parameter is None or "default" in parameter.schema:
            return DEFAULT if table == "queue" else "queue"
        return f"derived: {parameter.default}"


def _is_of_absent_users(path: str, resolved: Mapping[str, Any]) -> bool:
    """Return true if a value describes web users, and there are none."""
    return path.startswith("users.") and path != "users.per_side" and resolved["users"]["per_side"] == 0


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of a resolved spec with their paths; lists of values and named tables count as one value."""
    if path in _NAMED and isinstance(value, Mapping):
        yield path, value.get("name") or value.get("source")
    elif isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}".removeprefix("."))
    elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{number}]")
    else:
        yield path, value
