"""The link that advice is asked for: an access link, its rates, who uses it, and the experiment that it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from aqmlab._core import SpecError, bits_per_second
from aqmlab.cells.calibration_model import known
from aqmlab.spec import round_trips
from aqmlab.spec.experiment import Experiment, Users

_MBPS = 1e6

_GAME = (("game up", "80 kbit/s", "100 B", 0), ("game down", "160 kbit/s", "200 B", 1))
"""The datagrams of a player: name, rate, packet, side of the sender. Ours: a shooter's updates, 100 a second."""

_UPLOAD_SHARE = 0.14
"""What users send, requests and acknowledgements in their frames, in parts of what they fetch: 5.46 beside 39.25 Mbit/s
of 4,000 on 1 Gbit/s each way, by this engine."""


@dataclass(frozen=True, kw_only=True)
class AccessLink:
    """An access link: people at home, on side 0, browse and transfer over it.

    Parameters
    ----------
    down, up
        Its rate towards them and away from them, such as ``"500 Mbit/s"``: what the wire carries, frames' overhead
        included. ``up`` is at most ``down``.
    rtt
        Round-trip times without queueing: ``"20 ms"``, or ``"10..80 ms"`` for any between the two, alike often.
    users
        People who browse, as in docs/workload.md: each thinks, some 38 s on average, and fetches a page.
    downloads, uploads
        Long transfers that go on all the time in either direction.
    games
        People who play: each sends 80 kbit/s in packets of 100 bytes and receives 160 kbit/s in packets of 200 bytes.
        The sources are called ``game up`` and ``game down``.
    ecn
        Whether all hosts negotiate ECN (RFC 3168).

    Raises
    ------
    SpecError
        When a value is none, or there can be no such link.

    Examples
    --------
    >>> AccessLink(down="500 Mbit/s", up="20 Mbit/s", rtt="10..80 ms").rtt_ms
    (10, 80)
    """

    down: str
    up: str
    rtt: str
    users: int = 4
    downloads: int = 1
    uploads: int = 1
    games: int = 0
    ecn: bool = False

    def __post_init__(self) -> None:
        if self.up_mbps > self.down_mbps:
            raise SpecError(f"up: must be at most down, {self.down}, got {self.up}")
        for name, least in (("users", 1), ("downloads", 0), ("uploads", 0), ("games", 0)):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < least:
                raise SpecError(f"{name}: must be a whole number of {least} at least, got {number!r}")
        low, high = self.rtt_ms
        if not 1 <= low <= high:
            raise SpecError(f"rtt: must be 1 ms at least, the shorter one first, got {self.rtt!r}")

    @cached_property
    def down_mbps(self) -> float:
        """The rate towards the users in Mbit/s."""
        return _mbps("down", self.down)

    @cached_property
    def up_mbps(self) -> float:
        """The rate away from them in Mbit/s."""
        return _mbps("up", self.up)

    @cached_property
    def rtt_ms(self) -> tuple[int, int]:
        """The shortest and the longest round-trip time, in whole milliseconds."""
        return round_trips.read(self.rtt)

    @property
    def rtt_mean_ms(self) -> float:
        """The mean round-trip time in milliseconds."""
        return sum(self.rtt_ms) / 2

    @property
    def load_percent(self) -> float:
        """What the users need if nothing holds them back, in percent of the rate of the direction they fill more."""
        return 100 * self.users / users_who_fill(self.down_mbps, self.up_mbps)

    def experiment(self, *, warmup_s: float, duration_s: float) -> Experiment:
        """Return the experiment that it is, but for the discipline.

        Hosts are those of today, Linux with CUBIC, and none of their own interfaces is in the way. The link is a
        shaper's: disciplines count Ethernet's header in a packet, as in Linux, and no device's ring is below them.
        """
        low, high = self.rtt_ms
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
            link={"rate": self.up, "rate_back": self.down, "delay": "0 s", "header": "14 B", "device_fifo": 0},
            sides=("home", "internet"),
            hosts={"rate": "10 Gbit/s"},
            tcp={"profile": "linux-6", "ecn": self.ecn},
            users={"per_side": self.users, "sides": 1, "rtt": round_trips.uniform(low, high)},
            sources=sources,
            protocol={"warmup": f"{warmup_s:g} s", "duration": f"{duration_s:g} s"},
            # What is read of a run is its summary: tables that nobody looks at are to be small.
            record={"queue_every": "1 s", "link_every": "1 s"},
        )

    def __str__(self) -> str:
        hosts = "with" if self.ecn else "without"
        games = f", games: {self.games}" if self.games else ""
        return (
            f"{self.down} down, {self.up} up, round trips of {self.rtt}; users: {self.users:,}, downloads:"
            f" {self.downloads}, uploads: {self.uploads}{games}; hosts {hosts} ECN"
        )


def users_who_fill(down_mbps: float, up_mbps: float) -> float:
    """Return how many users fill one of the directions, by the calibration that ships for users on one side."""
    return min(down_mbps, up_mbps / _UPLOAD_SHARE) / known()[(*Users().names, 1)].mbps_per_user


def _mbps(name: str, text: str) -> float:
    try:
        return bits_per_second(text) / _MBPS
    except (ValueError, TypeError) as error:
        raise SpecError(f"{name}: {error}") from None
