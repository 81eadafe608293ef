"""OpenWrt's settings of smart queue management, ``/etc/config/sqm``, as a scheme for both directions.

Sources: the program sqm-scripts of OpenWrt, which makes lines of ``tc`` from them; the format UCI of its settings.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from aqmlab._core import SpecError
from aqmlab.disciplines import catalogue

_OPTIONS = {
    *("enabled", "interface", "download", "upload", "qdisc", "script", "squash_dscp", "squash_ingress"),
    *("iqdisc_opts", "eqdisc_opts", "linklayer", "overhead", "linklayer_adaptation_mechanism", "tcMPU"),
}
"""The options that decide what CAKE gets."""

_IGNORED = {
    *("qdisc_advanced", "qdisc_really_really_advanced", "linklayer_advanced", "debug_logging", "verbosity"),
    *("ingress_ecn", "egress_ecn", "itarget", "etarget", "target", "ilimit", "elimit", "tcMTU", "tcTSIZE"),
}
"""Options of the menus, and those of other disciplines than CAKE."""

_CAKE = "diffserv3 nat"
"""The options that all scripts with CAKE begin with."""

_SCRIPTS: Mapping[str, str] = MappingProxyType({"piece_of_cake.qos": "besteffort", "layer_cake.qos": ""})
"""The options that each script adds in both directions."""

_HTB = "shapes with HTB: set link.rate to the rates of the file, and write its discipline after --tc"


def lines(file: Path) -> tuple[str, str]:
    """Return the lines of ``tc`` for packets to the provider and from it.

    Raises
    ------
    SpecError
        When the file has not one section that is enabled, or a setting that is not modelled.
    """
    section = _section(file)
    script = section.get("script", "piece_of_cake.qos")
    if script not in _SCRIPTS:
        reason = _HTB if script.startswith("simple") else f"there are {', '.join(_SCRIPTS)}"
        raise SpecError(f"{file}: script: {script}: is not modelled: {reason}")
    ignores_code_points = section.get("squash_ingress", "1") == "1" and script == "layer_cake.qos"
    washes = section.get("squash_dscp", "1") == "1"
    common = [_CAKE, _SCRIPTS[script]]
    upload = [*common, section.get("eqdisc_opts", "")]
    download = [
        *common,
        "besteffort" if ignores_code_points else "",
        "wash" if washes else "",
        section.get("iqdisc_opts", ""),
    ]
    return _cake(file, section, "upload", upload), _cake(file, section, "download", download)


def _cake(file: Path, section: Mapping[str, str], direction: str, options: list[str]) -> str:
    rate = section.get(direction, "")
    if not rate.isdigit() or int(rate) == 0:
        accepted = "a rate in kbit/s such as 20000; 0 leaves the direction to the modem, which is not modelled"
        raise SpecError(f"{file}: {direction}: expected {accepted}, got {rate or 'none'}")
    words = " ".join([*_link_layer(file, section), *options]).split()
    return " ".join(["cake", "bandwidth", f"{rate}kbit", *words])


def _link_layer(file: Path, section: Mapping[str, str]) -> list[str]:
    layer = section.get("linklayer", "none")
    mechanism = section.get("linklayer_adaptation_mechanism", "default")
    if layer == "none":
        return []
    if mechanism not in ("default", "cake"):
        raise SpecError(f"{file}: linklayer_adaptation_mechanism: {mechanism}: is not modelled: write cake")
    overhead, mpu = section.get("overhead", "0"), section.get("tcMPU", "0")
    return [*(["atm"] if layer == "atm" else []), f"overhead {overhead} mpu {mpu}"]


def _section(file: Path) -> Mapping[str, str]:
    """Return the options of the one section that is enabled."""
    sections = list[dict[str, str]]()
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        match shlex.split(text, comments=True):
            case []:
                pass
            case ["config", "queue", *_]:
                sections.append({})
            case ["option", key, value] if sections:
                if key not in _OPTIONS | _IGNORED:
                    hint = catalogue.nearest(key, _OPTIONS)
                    raise SpecError(f"{file}, line {number}: {key}: is no option of sqm that is modelled{hint}")
                sections[-1][key] = value
            case _:
                raise SpecError(f"{file}, line {number}: expected config queue or option, got {text.strip()!r}")
    enabled = [section for section in sections if section.get("enabled", "0") == "1"]
    if len(enabled) != 1:
        raise SpecError(f"{file}: needs one section with enabled 1, got {len(enabled)} of {len(sections)}")
    return enabled[0]
