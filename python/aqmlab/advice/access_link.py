"""The access link of advice: its rates, its users, and its experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aqmlab._core import SpecError, bits_per_second, seconds
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.spec import quantities, schemes
from aqmlab.spec.capacity import rates
from aqmlab.spec.experiment import Experiment, Users

CONSTANT = "constant"
"""The kind of a link whose two bit rates never change."""

_MBPS = 1e6

_GAME = (("game up", "80 kbit/s", "100 B", 0), ("game down", "160 kbit/s", "200 B", 1))
"""The datagrams of a player: name, rate, packet, side of the sender. Ours: a shooter's updates, 100 a second."""

_UPLOAD_SHARE = 0.14
"""The traffic that users send, requests and acknowledgements in frames, relative to the traffic that they fetch.

With this engine, 4,000 users on 1 Gbit/s in each direction send 5.46 Mbit/s and fetch 39.25 Mbit/s.
"""


@dataclass(frozen=True, kw_only=True)
class AccessLink:
    """An access link: people at home, on side 0, browse and transfer over it.

    Parameters
    ----------
    down, up
        The rates towards the home and away from it, such as ``"500 Mbit/s"``, on the wire with the overhead of frames.
        ``up`` is at most ``down``.
    link
        The link in place of the two rates: a preset such as ``"docsis-3.1 250/25"``, or the table ``link`` of a spec.
        It may have any kind of capacity, and impairments.
    rtt
        Round-trip times without queueing: ``"20 ms"``, or ``"10..80 ms"`` for a uniform distribution. The delay of
        ``link`` adds to them.
    users
        People who browse, as in docs/workload.md: each repeatedly thinks, some 38 s on average, and fetches a page.
    downloads, uploads
        Endless transfers in either direction.
    games
        People who play. Each sends 80 kbit/s in packets of 100 bytes and receives 160 kbit/s in packets of 200 bytes.
        The sources are called ``game up`` and ``game down``.
    ecn
        Hosts negotiate ECN (RFC 3168).

    Raises
    ------
    SpecError
        When a value is invalid.

    Examples
    --------
    >>> AccessLink(down="500 Mbit/s", up="20 Mbit/s", rtt="10..80 ms").rtt_ms
    (10, 80)
    """

    down: str | None = None
    up: str | None = None
    link: str | Mapping[str, Any] | None = None
    rtt: str
    users: int = 4
    downloads: int = 1
    uploads: int = 1
    games: int = 0
    ecn: bool = False

    def __post_init__(self) -> None:
        if self.link is not None and (self.down, self.up) != (None, None):
            raise SpecError("down, up: must be left out with link, which has its rates")
        if self.link is None and None in (self.down, self.up):
            raise SpecError("down, up: must be given, or link in place of both")
        if self.link is None and self.up_mbps > self.down_mbps:
            raise SpecError(f"up: must be at most down, {self.down}, got {self.up}")
        for name, minimum in (("users", 1), ("downloads", 0), ("uploads", 0), ("games", 0)):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < minimum:
                raise SpecError(f"{name}: must be a whole number of {minimum} at least, got {number!r}")
        low, high = quantities.round_trips_ms(self.rtt)
        if not 1 <= low <= high:
            raise SpecError(f"rtt: must be 1 ms at least, the shorter one first, got {self.rtt!r}")

    @cached_property
    def down_mbps(self) -> float:
        """The mean rate towards the users in Mbit/s."""
        return self._cell.links[0].rate_back_bps / _MBPS if self.down is None else _mbps("down", self.down)

    @cached_property
    def up_mbps(self) -> float:
        """The mean rate away from them in Mbit/s."""
        return self._cell.links[0].rate_bps / _MBPS if self.up is None else _mbps("up", self.up)

    @cached_property
    def rtt_ms(self) -> tuple[int, int]:
        """The shortest and the longest round-trip time, in whole milliseconds, with the delay of the link."""
        low, high = quantities.round_trips_ms(self.rtt)
        return low + self._delay_ms, high + self._delay_ms

    @cached_property
    def kind(self) -> str | None:
        """The kind of its capacity, :data:`CONSTANT` for two bit rates; ``None`` for several kinds or other changes."""
        if self.link is None:
            return CONSTANT
        link = self._cell.resolved["link"]
        kinds = {next(iter(rate)) for rate in rates.both(link["rate"]) if isinstance(rate, Mapping)}
        if "cable" in kinds:
            # The downstream of cable has the token bucket of its plan.
            kinds.discard("token_bucket")
        if len(kinds) > 1 or link.get("rate_changes") or link.get("outages"):
            return None
        return kinds.pop() if kinds else CONSTANT

    @property
    def rtt_mean_ms(self) -> float:
        """The mean round-trip time in milliseconds."""
        return sum(self.rtt_ms) / 2

    @property
    def load_percent(self) -> float:
        """The load of the users without congestion, in percent of the rate of the more loaded direction."""
        return 100 * self.users / users_who_fill(self.down_mbps, self.up_mbps)

    def experiment(self, *, warmup_s: float, duration_s: float) -> Experiment:
        """Return the experiment on this link, without the discipline.

        Hosts run modern Linux with CUBIC, and their interfaces do not limit them. A link of two rates is a shaper:
        disciplines count the Ethernet header in a packet, as in Linux, and there is no device FIFO.
        """
        low, high = quantities.round_trips_ms(self.rtt)
        transfers = {"rtt": {"range": {"min": f"{low} ms", "max": f"{high} ms"}}}
        sources = [
            {"bulk": {"name": name, "flows": flows, "direction": name.removesuffix("s"), **transfers}}
            for name, flows in (("downloads", self.downloads), ("uploads", self.uploads))
            if flows
        ]
        sources += [
            {"datagrams": {"name": name, "rate": rate, "packet": packet, "flows": self.games, "side": side}}
            for name, rate, packet, side in _GAME
            if self.games
        ]
        return Experiment(
            link=self._table,
            sides=("home", "internet"),
            hosts={"rate": "10 Gbit/s"},
            tcp={"profile": "linux-6", "ecn": self.ecn},
            users={"per_side": self.users, "sides": 1, "rtt": quantities.uniform_rtt(low, high)},
            sources=sources,
            protocol={"warmup": f"{warmup_s:g} s", "duration": f"{duration_s:g} s"},
            # Only the summary of a run is read: sparse samples keep the other tables small.
            record={"queue_every": "1 s", "link_every": "1 s"},
        )

    @property
    def _table(self) -> dict[str, Any]:
        """The table ``link`` of a spec."""
        if self.link is None:
            rate = {"up": self.up, "down": self.down}
            return {"rate": rate, "delay": "0 s", "header": "14 B", "device_fifo": 0}
        return {"preset": self.link} if isinstance(self.link, str) else dict(self.link)

    @cached_property
    def _cell(self) -> Cell:
        """A cell with the link."""
        experiment = self.experiment(warmup_s=1, duration_s=1)
        return cells_of(schemes.parse("droptail").apply_to(experiment), [1])[0]

    @cached_property
    def _delay_ms(self) -> int:
        """The delay of both directions of the link, in whole milliseconds."""
        return 0 if self.link is None else round(2e3 * seconds(self._cell.resolved["link"]["delay"]))

    def __str__(self) -> str:
        preposition = "with" if self.ecn else "without"
        games = f", games: {self.games}" if self.games else ""
        if self.link is None:
            link = f"{self.down} down, {self.up} up, round trips of {self.rtt}"
        else:
            name = self.link if isinstance(self.link, str) else "The link as described"
            link = (
                f"{name}: means of {self.down_mbps:.4g} Mbit/s down and {self.up_mbps:.4g} Mbit/s up, round trips of"
                f" {self._delay_ms} ms and {self.rtt}"
            )
        return (
            f"{link}; users: {self.users:,}, downloads: {self.downloads}, uploads: {self.uploads}{games}; hosts"
            f" {preposition} ECN"
        )


def users_who_fill(down_mbps: float, up_mbps: float) -> float:
    """Return the number of users who fill one of the directions, by the package's calibration for one side."""
    return min(down_mbps, up_mbps / _UPLOAD_SHARE) / load_calibrations()[(*Users().names, 1)].mbps_per_user


def _mbps(name: str, text: str) -> float:
    try:
        return bits_per_second(text) / _MBPS
    except (ValueError, TypeError) as error:
        raise SpecError(f"{name}: {error}") from None
