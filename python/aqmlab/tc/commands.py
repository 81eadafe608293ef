"""A scheme as commands of Linux's ``tc``: a shaper for each direction of a link, with the discipline below it.

Sources: the man pages tc(8), tc-htb(8), tc-mirred(8) and those of the disciplines, of iproute2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from aqmlab._core import Resolved, SpecError
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.disciplines import kernel
from aqmlab.spec import schemes
from aqmlab.spec.capacity import rates
from aqmlab.spec.experiment import Experiment, Users
from aqmlab.tc import line, nearest, values, words

_EGRESS, _INGRESS = "$WAN", "$IFB"
"""The interfaces: a router sends direction 0 to the provider, and gets direction 1 through an intermediate device."""

_REDIRECTION = (
    f"ip link add name {_INGRESS} type ifb",
    f"ip link set dev {_INGRESS} up",
    f"tc qdisc replace dev {_EGRESS} handle ffff: ingress",
    f"tc filter add dev {_EGRESS} parent ffff: matchall action mirred egress redirect dev {_INGRESS}",
)
"""Packets from the provider pass the intermediate device (IFB), because a discipline works on departures."""

_HEADER_BYTES = 14
"""The bytes of a frame's overhead that the shaper already counts: the Ethernet header."""

_FRAME_BYTES = 1514

_NOTES = {
    "dualpi2": "Linux has DualPI2 from 6.17 on.",
    "pi2": "Linux has no PI2 of its own; from 6.17 on the Classic queue of its dualpi2 is one.",
}

_VARYING = {"wifi", "cellular", "leo", "trace", "mahimahi"}
"""The kinds of capacity whose rate varies, so that no shaper has it."""

_VARIANT = "variant"
"""The parameter by which a discipline computes as Linux does: the commands always set up Linux's."""


@dataclass(frozen=True)
class Commands:
    """The commands to type as root on the router.

    ``$WAN`` is its interface to the provider, and ``$IFB`` a name for an intermediate device.
    """

    disciplines: tuple[str, ...]
    """The discipline of each direction with its options; empty if Linux does not have it."""
    lines: tuple[str, ...]
    """The command lines; empty if Linux does not have the discipline."""
    notes: tuple[str, ...]
    """The differences from the simulation."""

    def __str__(self) -> str:
        """Return the discipline of each direction, the command lines and the notes, in paragraphs."""
        paragraphs = (tuple(dict.fromkeys(self.disciplines)), self.lines, self.notes)
        return "\n\n".join("\n".join(lines) for lines in paragraphs if lines)

    def frame(self) -> pl.DataFrame:
        """Return the command lines as a table."""
        return pl.DataFrame({"command": self.lines}, schema={"command": pl.String})

    def record(self) -> dict[str, Any]:
        """Return everything as a table of JSON."""
        return {key: list(value) for key, value in asdict(self).items()}


def planned_cell(experiment: Experiment) -> Cell:
    """Return a cell of an experiment whose users do not matter."""
    return cells_of(experiment.model_copy(update={"users": Users(per_side=1)}), [1])[0]


def commands(cell: Cell) -> Commands:
    """Return the scheme of a cell with a single link as commands.

    Raises
    ------
    SpecError
        When there are several links.
    """
    if len(cell.links) > 1:
        raise SpecError(f"tc: needs a spec with one link, got {len(cell.links)}")
    (link,), ((first, second),) = cell.links, cell.queues
    disciplines, lines, notes = list[str](), list[str](), list[str]()
    for device, queue, bits in zip(
        (_EGRESS, _INGRESS), (first, second), (link.rate_bps, link.rate_back_bps), strict=True
    ):
        ((name, parameters),) = queue.items()
        notes += [_NOTES[name]] if name in _NOTES else []
        text = _discipline(name, parameters, bits)
        if text is None:
            return Commands((), (), (_NOTES.get(name, f"Linux has no {name}."),))
        disciplines.append(text)
        lines += [] if device == _EGRESS else _REDIRECTION
        lines += _shaped(device, text, bits, link.overhead_bytes)
        notes += _differences(cell, name, parameters, text)
    if any(isinstance(rate, Mapping) and rate.keys() & _VARYING for rate in rates.both(cell.resolved["link"]["rate"])):
        notes.append(
            "The rate of this link varies, and a shaper has one rate, here the mean: a faster link is not used, and a"
            " slower one has its queue in the device. The simulation has the discipline in the device itself."
        )
    return Commands(tuple(disciplines), tuple(lines), tuple(dict.fromkeys(notes)))


def _discipline(name: str, parameters: Mapping[str, Any], bits: int) -> str | None:
    """Return a discipline with its options, or the nearest one of Linux; ``None`` if there is none."""
    if name == kernel.NAME:
        return str(parameters[kernel.TC])
    if name in nearest.WRITERS:
        return nearest.WRITERS[name](parameters, bits)
    for entry, tc in words.disciplines().values():
        if entry.name == name:
            return " ".join(words.write(entry, tc, parameters))
    return None


def _shaped(device: str, text: str, bits: int, overhead: int) -> list[str]:
    """Return the commands for a discipline behind a shaper of the link's rate, which CAKE has itself."""
    options = text.split()
    if options[0] == "cake":
        if "bandwidth" not in options:
            text = _with_rate(text, bits, overhead)
        return [f"tc qdisc replace dev {device} root {text}"]
    return [
        f"tc qdisc replace dev {device} root handle 1: htb default 1",
        f"tc class add dev {device} parent 1: classid 1:1 htb rate {values.rate(bits)}"
        f" overhead {overhead - _HEADER_BYTES} quantum {_FRAME_BYTES}",
        f"tc qdisc add dev {device} parent 1:1 {text}",
    ]


def _with_rate(text: str, bits: int, overhead: int) -> str:
    """Return CAKE's options with the link's rate and overhead, for those of a CAKE that does not shape."""
    shaper, framing = f"bandwidth {values.rate(bits)}", f"overhead {overhead}"
    text = text.replace("unlimited", shaper).replace("raw overhead 0", framing)
    words = text.split()
    return " ".join([*words, *(part for part in (shaper, framing) if part.split()[0] not in words)])


def _differences(cell: Cell, name: str, parameters: Mapping[str, Any], text: str) -> list[str]:
    """Return a sentence about the parameters that Linux's discipline has otherwise."""
    if name == kernel.NAME:
        return []
    if name in nearest.WRITERS:
        return [nearest.NOTES[name], *nearest.ignored(name, parameters)]
    queue = schemes.parse(line.scheme(text)).queue.model_dump()
    resolved = json.loads(Resolved(json.dumps({**cell.resolved, "queue": queue, "queue_back": queue})).json)
    in_linux = resolved["queue"][name]
    others = [
        f"{key} = {schemes.text_of(in_linux.get(key, 'its default'))}"
        for key in {**in_linux, **parameters}
        if key != _VARIANT and parameters.get(key) != in_linux.get(key)
    ]
    return [f"Linux has in its {name}: {', '.join(others)}."] if others else []
