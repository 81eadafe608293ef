"""Presets of links by their technology: values for a link's table, each with its source."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from aqmlab._core import SpecError

KEY = "preset"

UP_RATE, DOWN_RATE = "rate up", "rate down"
"""The texts that stand for the rates of a plan in the values of a preset."""

_OURS = "ours"


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


def _shaped(line_up: str, line_down: str, burst: str) -> dict[str, Any]:
    """Return the rates of a plan that is shaped by token buckets."""
    return {
        direction: {"token_bucket": {"rate": rate, "burst": burst, "line": line}}
        for direction, rate, line in (("up", UP_RATE, line_up), ("down", DOWN_RATE, line_down))
    }


def _trace(lengths_s: tuple[float, ...], up: tuple[float, ...], down: tuple[float, ...]) -> dict[str, Any]:
    """Return rates over time; the last two lengths must be equal."""
    seconds = [float(sum(lengths_s[:row])) for row in range(len(lengths_s))]
    return {key: {"trace": {"seconds": seconds, "mbps": list(rates)}} for key, rates in (("up", up), ("down", down))}


_RECONFIGURATION = "Mohan et al., WWW 2024, arXiv 2310.09242: at seconds 12, 27, 42 and 57 of each minute"

PRESETS = (
    LinkPreset(
        name="docsis-3.1",
        about="Cable: a plan shaped by token buckets, and a shared upstream that is granted on request.",
        plan=Plan(250, 25),
        fastest=Plan(10_000, 1_000),
        values=(
            Value(
                "rate",
                _shaped("1 Gbit/s", "10 Gbit/s", "3044 B"),
                "the plan; CM-SP-MULPIv3.1, C.2.2: the default of Maximum Traffic Burst; lines of DOCSIS 3.1",
            ),
            Value("overhead", "18 B", "tc-cake(8), docsis: Ethernet's header and check sequence"),
            Value(
                "delay",
                "4 ms",
                "White, Sundaresan and Briscoe (CableLabs 2019): a round trip of about 10 ms; its division is ours",
            ),
            Value(
                "jitter",
                {"up": "4 ms", "down": "0 s"},
                f"{_OURS}: two MAP intervals of 2 ms in which a request waits for its grant",
            ),
        ),
        leaves_out="Contention among modems, piggybacked requests, low-latency flows, the shortest frame of 64 B, and"
        " the buffer of the modem: write it as the limit of the queue.",
    ),
    LinkPreset(
        name="vdsl2",
        about="Telephone line: the rates at which the modem is synchronized, with PPPoE.",
        plan=Plan(50, 10),
        fastest=Plan(300, 100),
        payload=Fraction(64, 65),
        values=(
            Value("rate", {"up": UP_RATE, "down": DOWN_RATE}, "64/65 of the plan: IEEE 802.3, 61.3.3, as PTM encodes"),
            Value("overhead", "30 B", "tc-cake(8), pppoe-ptm: PPPoE, Ethernet and PTM"),
            Value("delay", "4 ms", f"{_OURS}: a round trip of 8 ms over an interleaved line"),
        ),
        leaves_out="Retransmission on the line (G.INP), errors in bursts, ATM cells of older lines, the shorter packets"
        ' of PPPoE (`mtu = "1492 B"` with `tcp.mss = 1452`), and the buffer of the modem.',
    ),
    LinkPreset(
        name="gpon",
        about="Optical fibre that up to 64 homes share: a plan shaped by token buckets.",
        plan=Plan(1_000, 1_000),
        fastest=Plan(2_400, 1_200),
        values=(
            Value(
                "rate",
                _shaped("1244160 kbit/s", "2488320 kbit/s", "64 kB"),
                "the plan; ITU-T G.984.2: rates of the lines; the burst is ours",
            ),
            Value("overhead", "23 B", "ITU-T G.984.3: GEM header 5; IEEE 802.3: header 14, check sequence 4"),
            Value("delay", "100 us", "ITU-T G.984.1: 20 km, at 5 us a km"),
            Value(
                "jitter",
                {"up": "1 ms", "down": "0 s"},
                f"{_OURS}: eight frames of 125 us (ITU-T G.984.3) until the upstream is granted",
            ),
        ),
        leaves_out="Other homes on the fibre, the allocation of the upstream by their load, and the buffers.",
    ),
    LinkPreset(
        name="lte",
        about="Mobile network of the fourth generation: a rate of its own each second.",
        values=(
            Value(
                "rate",
                _trace(
                    (1.0,) * 10,
                    up=(4.2, 7.8, 9.6, 7.2, 5.4, 3.6, 6.6, 8.4, 5.4, 1.8),
                    down=(7.8, 14.3, 18.2, 11.7, 3.9, 9.1, 16.9, 20.8, 15.6, 11.7),
                ),
                "Huang et al., MobiSys 2012: medians of 13 Mbit/s down and 6 Mbit/s up; the ten seconds are ours",
            ),
            Value("delay", "30 ms", f"{_OURS}: a round trip of some 70 ms with the jitter"),
            Value("jitter", "8 ms", "3GPP TS 36.321: one retransmission (HARQ) after 8 ms; its distribution is ours"),
            Value("overhead", "8 B", f"{_OURS}: headers of PDCP, RLC and MAC"),
        ),
        leaves_out="Movement, handovers, other users of the cell, sleep of the radio, and its queue for each user.",
    ),
    LinkPreset(
        name="starlink",
        about="Satellites in low orbit: another path each 15 s, with another delay and rate.",
        values=(
            Value(
                "rate",
                _trace(
                    (12.0, 15.0, 15.0, 15.0, 1.5, 1.5),
                    up=(9, 12, 7, 12, 9, 9),
                    down=(90, 120, 70, 120, 90, 90),
                ),
                "Michel et al., IMC 2022: 100 to 200 Mbit/s are promoted; means of 100 and 10, and the steps, are ours",
            ),
            Value(
                "delay",
                "24 ms",
                "Michel et al., IMC 2022: a round trip of 40 to 60 ms to European servers, at least 20",
            ),
            Value(
                "delay_changes",
                [
                    {"at": f"{at} s", "delay": f"{delay} ms", "every": "1 min"}
                    for at, delay in ((12, 18), (27, 26), (42, 20), (57, 24))
                ],
                f"{_RECONFIGURATION}; the steps are ours",
            ),
            Value(
                "outages",
                [{"at": "12 s", "lasts": "100 ms", "every": "15 s", "packets": "lost"}],
                f"{_RECONFIGURATION}; the length is ours",
            ),
        ),
        leaves_out="The drift of the delay between two steps, obstructions, rain, other users of the cell, and the"
        " queue of the terminal. The run starts at second 0 of a minute.",
    ),
    LinkPreset(
        name="geo",
        about="A geostationary satellite.",
        plan=Plan(100, 10),
        fastest=Plan(1_000, 100),
        values=(
            Value(
                "rate", {"up": UP_RATE, "down": DOWN_RATE}, "the plan; Michel et al., IMC 2022, measured one of 100/10"
            ),
            Value("delay", "300 ms", "Michel et al., IMC 2022: a round trip of at least about 600 ms"),
        ),
        leaves_out="Proxies that split TCP connections, the request of capacity up, rain, and the queue of the modem.",
    ),
    LinkPreset(
        name="wifi-ac busy",
        about="Wireless network of 802.11ac with four busy stations: a share of the airtime, and waits for it.",
        values=(
            Value(
                "rate",
                "130 Mbit/s",
                f"{_OURS}: a quarter of 60 % of the 866.7 Mbit/s of IEEE 802.11ac (80 MHz, two streams, MCS 9)",
            ),
            Value("delay", "1 ms", f"{_OURS}: access to an idle channel and the block acknowledgement"),
            Value(
                "jitter",
                "12 ms",
                f"{_OURS}: three other stations with aggregates of 4 ms, the longest of Linux (Høiland-Jørgensen et"
                " al., ATC 2017)",
            ),
            Value("loss", 0.001, f"{_OURS}: packets that are lost after all retries"),
            Value("overhead", "42 B", "IEEE 802.11: delimiter 4, header 26, LLC 8, check sequence 4"),
        ),
        leaves_out="That both directions share the channel, rates that follow the distance, and the size of aggregates,"
        " which grows with the queue.",
    ),
)
"""Every preset. One is entered here and nowhere else."""


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
    names = [preset.name for preset in PRESETS]
    if not isinstance(written, str):
        raise SpecError(f"{path}: must be a text such as {names[0]!r}, got {written!r}")
    name, rates = written, None
    if written not in names and (match := re.fullmatch(r"(.*\S)\s+([\d./]+)", written)):
        name, rates = match.groups()
    preset = next((preset for preset in PRESETS if preset.name == name), None)
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
