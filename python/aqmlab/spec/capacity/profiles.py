"""Files of profiles of a wire: the delay of each packet, or its loss, in a line of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab._core import SpecError
from aqmlab.spec.capacity import traces
from aqmlab.spec.capacity.rates import DOWN, UP

FILE = {"type": "string", "description": "A line for each packet: its delay in milliseconds, or -1 if it is lost."}


def add_key(definitions: Mapping[str, Any]) -> None:
    """Add the key that only Python reads, the file of a profile, to a schema's definitions."""
    table = definitions["Profile"]
    table["properties"]["file"] = FILE
    table["anyOf"] = [{"required": ["file"]}, {"required": table.pop("required")}]


def read_files(profile: Any, path: str, directory: Path) -> Any:
    """Replace the files of a profile, of one direction or of both, by their content.

    Parameters
    ----------
    profile
        The value of ``link.profile``; the engine checks it.
    path
        Its path in the spec, for messages.
    directory
        The directory that relative file names refer to.

    Raises
    ------
    SpecError
        When a file cannot be read, or has a line that is no number.
    """
    if not isinstance(profile, Mapping):
        return profile
    if "file" in profile:
        return _read(profile, f"{path}.file", directory)
    return {
        key: read_files(value, f"{path}.{key}", directory) if key in (UP, DOWN) else value
        for key, value in profile.items()
    }


def _read(table: Mapping[str, Any], path: str, directory: Path) -> dict[str, Any]:
    file = traces.only_file(table, path, directory)
    place = f"{path}: {file}"
    lines = traces.read_text(file, place).split()
    try:
        return {"delay_ms": [float(line) for line in lines]}
    except ValueError as error:
        raise SpecError(f"{place}: must be numbers of milliseconds: {error}") from None
