"""A line of ``tc`` as a scheme: options alone, a command that sets them, or the output of ``tc qdisc show``.

A file of OpenWrt's settings is a scheme too, with another discipline in the second direction.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from aqmlab._core import SpecError
from aqmlab.disciplines import catalogue
from aqmlab.spec import overrides, schemes
from aqmlab.spec.experiment import QueueSpec
from aqmlab.spec.variants.variant import VARIANT_SEPARATOR
from aqmlab.tc import netem, sqm, words

_ACTIONS = {"add", "replace", "change", "link", "show"}
_PLACES = {"dev": 2, "parent": 2, "handle": 2, "refcnt": 2, "root": 1, "offloaded": 1, "[Unknown": 2}
"""Words about the place of a discipline, and how many words each of them takes."""

_STATISTICS = "Sent"
"""The word that begins the statistics of ``tc -s qdisc``."""


def scheme(line: str) -> str:
    """Return the scheme of a line of ``tc``, the discipline as Linux has it, or of OpenWrt's ``/etc/config/sqm``.

    Raises
    ------
    SpecError
        When the line names no discipline that is modelled, or an option that is not.

    Examples
    --------
    >>> scheme("tc qdisc replace dev eth0 root cake bandwidth 20mbit diffserv4")
    'cake:variant=linux,bandwidth=20 Mbit/s,diffserv=diffserv4'
    >>> scheme("qdisc pfifo 8001: dev eth0 root refcnt 2 limit 50p")
    'droptail:limit=50 packets'
    """
    # A line may be longer than a file's name can be, at which Path.is_file fails.
    if "/" in line and os.path.isfile(line):  # noqa: PTH113
        return _of_file(Path(line))
    return schemes.label(_queue(line), ecn=False)


def _of_file(file: Path) -> str:
    """Return the scheme of the first direction, with the discipline of the second one as a change of the spec."""
    upload, download = map(_queue, sqm.lines(file))
    change = overrides.assignment("queue_back", download.model_dump())
    return VARIANT_SEPARATOR.join([schemes.label(upload, ecn=False), change])


def _queue(line: str) -> QueueSpec:
    name, options = _discipline(line)
    known = words.disciplines()
    if name == netem.NAME:
        raise SpecError(f"tc {name}: {netem.refusal(options)}")
    if name not in known:
        hint = catalogue.hint(name, known)
        raise SpecError(f"tc {name}: is not modelled{hint}; there are {', '.join(known)}")
    entry, tc = known[name]
    try:
        parameters = words.read(name, entry, tc, options)
    except ValueError as error:
        raise SpecError(f"tc {name}: {error}") from None
    return QueueSpec.model_validate({entry.name: parameters})


def _discipline(line: str) -> tuple[str, list[str]]:
    """Return the name of the discipline of a line, and its options."""
    text = line.split()
    if _STATISTICS in text:
        text = text[: text.index(_STATISTICS)]
    while text and (text[0] in ("sudo", "qdisc", *_ACTIONS) or text[0].startswith("-") or re.search(r"\btc$", text[0])):
        text.pop(0)
    text = _without_place(text)
    if not text:
        raise SpecError(f"tc: expected a discipline with its options, such as fq_codel limit 1000, got {line!r}")
    return text[0], _without_place(text[1:])


def _without_place(text: list[str]) -> list[str]:
    while text and (text[0] in _PLACES or re.fullmatch(r"[0-9a-f]*:[0-9a-f]*", text[0])):
        text = text[_PLACES.get(text[0], 1) :]
    return text
