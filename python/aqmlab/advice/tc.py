"""A scheme as commands of Linux's ``tc``: a shaper for each direction of a link, with the discipline below it.

Sources: the man pages tc(8), tc-htb(8), tc-pfifo(8), tc-red(8), tc-codel(8), tc-fq_codel(8), tc-pie(8), tc-fq_pie(8),
tc-cake(8) and tc-dualpi2(8) of iproute2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from aqmlab._core import bits_per_second, size_in_bytes
from aqmlab.cells.cell import Cell
from aqmlab.disciplines import kernel
from aqmlab.disciplines.catalogue import NOECN

Parameters = Mapping[str, Any]
"""A discipline's resolved parameters."""

_DIRECTIONS = ("$WAN", "$LAN")
"""The interfaces of a router: it sends direction 0 to the provider, and direction 1 to the home."""

_HEADER_BYTES = 14
"""The bytes of a frame's overhead that the shaper already counts: the Ethernet header."""

_FRAME_BYTES = 1514


@dataclass(frozen=True)
class Commands:
    """The commands to type as root on the router; ``$WAN`` and ``$LAN`` are its interfaces."""

    lines: tuple[str, ...]
    """The command lines; empty if Linux does not have the discipline."""
    notes: tuple[str, ...]
    """The differences from the simulation."""

    def __str__(self) -> str:
        return "\n".join((*self.lines, "", *self.notes))


_VARIANT = "variant"
"""The parameter by which a discipline computes as Linux does: the commands always set up Linux's."""


def commands(cell: Cell) -> Commands:
    """Return the scheme of a cell with a single link as commands."""
    queues = (cell.resolved["queue"], cell.resolved.get("queue_back", cell.resolved["queue"]))
    (link,) = cell.links
    rates, overhead = (link.rate_bps, link.rate_back_bps), link.overhead_bytes
    if cell.scheme not in _QDISCS:
        return Commands((), (_MISSING.get(cell.scheme, f"Linux has no {cell.scheme}."),))
    write, used, note = _QDISCS[cell.scheme]
    lines: list[str] = []
    for device, queue, bits in zip(_DIRECTIONS, queues, rates, strict=True):
        text = write(queue[cell.scheme], bits)
        if queue[cell.scheme].get(NOECN):
            # RED marks with the option ecn; the others mark unless they have noecn.
            text = re.sub(r" ecn( harddrop)?\b", "" if text.startswith("red") else f" {NOECN}", text)
        if text.startswith("cake"):
            shaper = "" if " bandwidth " in text else f" bandwidth {_rate(bits)} overhead {overhead}"
            lines.append(f"tc qdisc replace dev {device} root {text}{shaper}")
            continue
        lines += [
            f"tc qdisc replace dev {device} root handle 1: htb default 1",
            f"tc class add dev {device} parent 1: classid 1:1 htb rate {_rate(bits)}"
            f" overhead {overhead - _HEADER_BYTES} quantum {_FRAME_BYTES}",
            f"tc qdisc add dev {device} parent 1:1 {text}",
        ]
    has_noecn = not text.startswith("cake")
    known = used | {_VARIANT} | ({NOECN} if has_noecn else set())
    ignored = [name for name in cell.parameters if name not in known]
    notes = [note] if note else []
    if ignored:
        notes.append(f"tc has no {', '.join(ignored)} of {cell.scheme}: Linux has its own.")
    return Commands(tuple(lines), tuple(notes))


def _droptail(values: Parameters, bits: int) -> str:
    number, unit = values["limit"].split()
    return f"{'pfifo' if unit == 'packets' else 'bfifo'} limit {number}"


def _kernel(values: Parameters, bits: int) -> str:
    return str(values[kernel.TC])


def _red(values: Parameters, bits: int) -> str:
    packet = size_in_bytes(values["mean_packet"])
    minimum, maximum = (round(values[name] * packet) for name in ("min_th", "max_th"))
    suffix = " harddrop" if values["ecn_policy"] == "drop_above_max" else ""
    return (
        f"red limit {_packets(values) * _FRAME_BYTES} min {minimum} max {maximum} avpkt {packet} burst"
        f" {burst(values['w_q'], minimum / packet)} adaptive probability {values['max_p']:g}"
        f" bandwidth {_rate(bits)} ecn{suffix}"
    )


def burst(weight: float, min_th: float) -> int:
    """Return the burst in packets, by which ``tc`` sets RED's weight.

    It is the largest that keeps the average below ``min_th``: L with ``L + 1 + ((1 - w)^(L + 1) - 1) / w < min_th``
    (Floyd and Jacobson 1993, section V). ``tc`` computes the weight from it, as the next lower power of two.

    Examples
    --------
    >>> burst(0.0041, 5)
    50
    """

    def is_above(length: int) -> bool:
        return length + 1 + math.expm1((length + 1) * math.log1p(-weight)) / weight >= min_th

    high = 1
    while not is_above(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return max(low, math.ceil(min_th))


def _codel(values: Parameters, bits: int) -> str:
    return f"codel limit {_packets(values)} target {_time(values['target'])} interval {_time(values['interval'])} ecn"


def _fq_codel(values: Parameters, bits: int) -> str:
    return (
        f"fq_codel limit {_packets(values)} flows {values['flows']} target {_time(values['target'])} interval"
        f" {_time(values['interval'])} quantum {size_in_bytes(values['quantum'])} ecn drop_batch"
        f" {values['drop_batch']}"
    )


def _pie(values: Parameters, bits: int) -> str:
    return f"pie limit {_packets(values)} {_pie_arguments(values)} ecn no_dq_rate_estimator"


def _fq_pie(values: Parameters, bits: int) -> str:
    return (
        f"fq_pie limit {_packets(values)} flows {values['flows']} {_pie_arguments(values)}"
        f" quantum {size_in_bytes(values['quantum'])} ecn_prob {100 * values['mark_ecnth']:.0f}"
        " ecn no_dq_rate_estimator"
    )


def _pie_arguments(values: Parameters) -> str:
    # Linux has PIE's gains in sixteenths of a hertz.
    return (
        f"target {_time(values['qdelay_ref'])} tupdate {_time(values['t_update'])}"
        f" alpha {16 * values['alpha']:.0f} beta {16 * values['beta']:.0f}"
    )


def _dualpi2(values: Parameters, bits: int) -> str:
    return (
        f"dualpi2 limit {_packets(values)} coupling_factor {values['k']:.0f} step_thresh {_time(values['step'])}"
        f" min_qlen_step {values['min_left']} drop_on_overload drop_dequeue"
        f" classic_protection {values['classic_weight']:g} target {_time(values['target'])}"
        f" tupdate {_time(values['t_update'])} alpha {values['alpha']:g} beta {values['beta']:g}"
    )


def _cake(isolation: str) -> Callable[[Parameters, int], str]:
    def write(values: Parameters, bits: int) -> str:
        return f"cake besteffort {isolation} rtt {_time(values['interval'])} memlimit {size_in_bytes(values['limit'])}"

    return write


def _whole_cake(values: Parameters, bits: int) -> str:
    # Without its own rate it gets the link's, and the link's overhead.
    shapes = values["bandwidth"] != "unlimited"
    words = ["cake", *([f"bandwidth {_rate(bits_per_second(values['bandwidth']))}"] if shapes else [])]
    words += ["autorate-ingress"] if values["autorate_ingress"] else []
    words += [values["diffserv"], values["isolation"], "nat" if values["nat"] else "nonat"]
    words += [f"rtt {_time(values['rtt'])}", "ingress" if values["ingress"] else "egress"]
    if values["link_layer"] != "raw":
        overhead = int(values["overhead"].split()[0]) + 4 * values["ether_vlan"]
        words += [f"overhead {overhead}", f"mpu {size_in_bytes(values['mpu'])}", values["atm"]]
    elif shapes:
        words.append("raw")
    words += [f"memlimit {size_in_bytes(values['memlimit'])}"] if values["memlimit"] else []
    return " ".join(words)


_PIE = {"limit", "qdelay_ref", "t_update", "alpha", "beta", "delay_from"}
_FLOWS = {"flows", "quantum"}
_COBALT = {"interval", "target", "quantum", "limit"}
"""The parameters that CAKE sets: it derives the target from the interval, and the quantum from the rate."""

_CAKE = {
    "bandwidth",
    "autorate_ingress",
    "diffserv",
    "isolation",
    "nat",
    "rtt",
    "ingress",
    "link_layer",
    "overhead",
    "mpu",
    "atm",
    "ether_vlan",
    "memlimit",
}

_NEAREST = "Linux has COBALT only in CAKE, whose limit counts the kernel's memory of packets."

_QDISCS: Mapping[str, tuple[Callable[[Parameters, int], str], set[str], str]] = MappingProxyType(
    {
        "droptail": (_droptail, {"limit"}, ""),
        kernel.NAME: (_kernel, {kernel.TC}, ""),
        "ared": (
            _red,
            {"min_th", "max_th", "w_q", "max_p", "ecn_policy", "mean_packet", "limit", "target_delay"},
            "Linux measures RED's queue in bytes; the simulation counted packets, converted with avpkt bytes each.",
        ),
        "codel": (_codel, {"limit", "target", "interval"}, ""),
        "fq_codel": (_fq_codel, {"limit", "target", "interval", "drop_batch"} | _FLOWS, ""),
        "pie": (_pie, _PIE, ""),
        "fq_pie": (_fq_pie, _PIE | _FLOWS | {"mark_ecnth"}, ""),
        "cobalt": (_cake("flowblind"), _COBALT, _NEAREST),
        "cake": (_whole_cake, _CAKE, ""),
        "fq_cobalt": (_cake("flows"), _COBALT | {"flows"}, _NEAREST),
        "dualpi2": (
            _dualpi2,
            {"limit", "k", "step", "min_left", "overload", "classic_weight", "target", "t_update", "alpha", "beta"},
            "Linux has DualPI2 from 6.17 on.",
        ),
    }
)
"""For each discipline: a function that returns its arguments, the parameters that they set, and a note."""

_MISSING = {"pi2": "Linux has no PI2 of its own; from 6.17 on the Classic queue of its dualpi2 is one."}


def _packets(values: Parameters) -> int:
    return int(values["limit"].split()[0])


def _time(text: str) -> str:
    return text.replace(" ", "")


def _rate(bits: int) -> str:
    return f"{bits / 1e6:.9g}mbit"
