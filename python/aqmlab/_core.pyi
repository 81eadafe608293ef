"""The engine, as Python sees it: a spec goes in as JSON, Arrow tables come out."""

from collections.abc import Callable
from typing import Literal, final

from aqmlab.disciplines.custom.law import Time

__all__ = [
    "Link",
    "LinkContext",
    "Packet",
    "Qdisc",
    "QueueState",
    "RecordBatch",
    "Resolved",
    "Simulation",
    "SpecError",
    "Stream",
    "bits_per_second",
    "catalogue",
    "engine_version",
    "profiles",
    "results_number",
    "schemas",
    "seconds",
    "shipped",
    "size_in_bytes",
    "testbeds",
]

class SpecError(ValueError):
    """A mistake in a spec: ``path: what is allowed, got value``."""

@final
class Resolved:
    """A spec that has been checked, with every default filled in. Those that say the same are equal.

    Raises
    ------
    SpecError
        When the spec asks for something impossible, naming the field, the value and what is allowed.
    """

    def __new__(cls, spec_json: str) -> Resolved: ...
    @property
    def json(self) -> str:
        """The spec as canonical JSON."""

    @property
    def warmup_s(self) -> float:
        """When the measured window begins, in simulated seconds."""

    @property
    def duration_s(self) -> float:
        """How long the measured window is, in simulated seconds."""

    @property
    def links(self) -> list[Link]:
        """Every link there is: those of the chain, else the one."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs__(self) -> tuple[str]: ...

@final
class Link:
    """A link of a resolved spec, in numbers."""

    @property
    def rate_bps(self) -> int:
        """Its bit rate on the wire in direction 0, in bits a second."""

    @property
    def rate_back_bps(self) -> int:
        """That of direction 1."""

    @property
    def rate_changes(self) -> list[tuple[float, int]]:
        """From when on, in seconds, it has which other rate in both directions, in bits a second."""

    @property
    def delay_s(self) -> float:
        """The propagation delay of one direction, in seconds."""

    @property
    def overhead_bytes(self) -> int:
        """What a frame is longer on the wire than its IP packet."""

    @property
    def header_bytes(self) -> int:
        """What of it queue disciplines count in the size of a packet."""

    @property
    def mtu_bytes(self) -> int:
        """The longest IP packet."""

    @property
    def device_fifo(self) -> int:
        """Packets that the driver's ring holds below the queue discipline."""

@final
class RecordBatch:
    """A table that any Arrow library can take over without copying (the Arrow PyCapsule interface)."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

_MakeLaw = Callable[[LinkContext, Stream], object]

@final
class Simulation:
    """One run of one resolved spec with one seed.

    ``make_laws`` makes the law of each direction whose law is not one of the catalogue. ``capture`` is from when, until
    when (in seconds) and how many packets are captured.
    """

    def __new__(
        cls,
        resolved: Resolved,
        seed: int,
        make_laws: tuple[_MakeLaw | None, _MakeLaw | None] | None = None,
        capture: tuple[float, float, int] | None = None,
    ) -> Simulation: ...
    @staticmethod
    def explained(
        resolved: Resolved,
        seed: int,
        make_laws: tuple[_MakeLaw | None, _MakeLaw | None] | None = None,
        *,
        request: int | None = None,
        slowest: int = 0,
    ) -> Simulation:
        """Prepare the same run, to be explained: where the time of each exchange went.

        Its timelines are those of the exchange with the row ``request`` and of each one that was among the ``slowest``
        so far.
        """

    @property
    def now(self) -> float:
        """The virtual clock, in seconds since the start of the warm-up."""

    @property
    def end(self) -> float:
        """The end of the measured window on that clock, in seconds."""

    def advance(self, seconds: float) -> None:
        """Simulate so many seconds more, but not past the end. Releases the GIL; raises what a law raised."""

    def take(self, table: str) -> RecordBatch:
        """Take the rows of one table recorded since the last call, if any.

        The tables are ``queue``, ``link``, ``exchanges`` and ``losses``; of an explained run also ``explanations`` and
        ``timelines``.
        """

    def take_capture(self) -> bytes:
        """Take what has been added to the pcapng file since the last call."""

    @property
    def capture_cut_s(self) -> float | None:
        """When the last packet of the capture arrived, in seconds, if more arrived than it may hold."""

    def gauges(self) -> RecordBatch:
        """Return what can be read off the links now, in the warm-up too.

        A row for each direction of each link: packets waiting, and since the start of the run packets arrived, bytes
        sent, packets dropped and marked. It changes nothing of what comes.
        """

    def response_times(self) -> RecordBatch:
        """Return the log histogram of response times by response size."""

    def summary(self) -> str:
        """Return the results of the measured window as JSON."""

@final
class Qdisc:
    """A queue discipline alone: what ``aqmlab.Queue`` drives."""

    def __new__(
        cls,
        queue_json: str,
        rate: str | None,
        overhead: str | None,
        seed: int,
        make_law: Callable[[LinkContext, Stream], object] | None = None,
    ) -> Qdisc: ...
    def enqueue(self, size: int, flow: int, ecn: str, at: float) -> Literal["queued", "marked", "dropped"]:
        """Offer a packet."""

    def dequeue(self, at: float) -> Packet | None:
        """Fetch the next packet."""

    def advance(self, to: float) -> None:
        """Run the timers that are due."""

    @property
    def now(self) -> float:
        """The time of the last call, in seconds."""

    @property
    def packets(self) -> int:
        """Packets waiting."""

    @property
    def bytes(self) -> int:
        """Bytes waiting."""

    def counters(self) -> dict[str, int]:
        """Return what became of the packets, by cause."""

    def probe(self) -> dict[str, float]:
        """Return the discipline's variables."""

@final
class Packet:
    """A packet in a queue, or on its way in or out."""

    @property
    def size(self) -> int:
        """Length of the IP packet in bytes, headers included."""

    @property
    def flow(self) -> int:
        """Which flow it belongs to."""

    @property
    def ecn(self) -> Literal["not_ect", "ect0", "ect1", "ce"]:
        """Its ECN field."""

    @property
    def enqueued_at(self) -> Time:
        """When it arrived."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class QueueState:
    """How much waits in a queue, the packet being judged not included."""

    @property
    def packets(self) -> int:
        """Packets waiting."""

    @property
    def bytes(self) -> int:
        """Bytes waiting."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class LinkContext:
    """What a law may know of the link behind its queue."""

    @property
    def rate_bps(self) -> int:
        """Its bit rate on the wire, in bits a second."""

    @property
    def header_bytes(self) -> int:
        """What of a frame's header is in the size of a packet beyond its IP length."""

    @property
    def overhead_bytes(self) -> int:
        """What a frame is longer on the wire than that size."""

    def packets_per_sec(self, mean_packet: int) -> float:
        """Return how many packets of so many IP bytes it carries in a second, their frames included."""

@final
class Stream:
    """A deterministic source of random numbers."""

    def uniform(self) -> float:
        """Draw a number from 0 up to, but not including, 1."""

    def below(self, n: int) -> int:
        """Draw a whole number from 0 up to, but not including, ``n``."""

def seconds(text: str) -> float:
    """Read a time, such as ``200 ms``; a ``ValueError`` says what is wrong with it."""

def bits_per_second(text: str) -> int:
    """Read a bit rate, such as ``100 Mbit/s``; a ``ValueError`` says what is wrong with it."""

def size_in_bytes(text: str) -> int:
    """Read a size, such as ``1500 B``; a ``ValueError`` says what is wrong with it."""

def catalogue() -> str:
    """Return the queue disciplines and their parameters as JSON."""

def testbeds() -> str:
    """Return the testbeds, their values and where each is from, as JSON."""

def profiles() -> str:
    """Return the TCP stack profiles and their values as JSON."""

def schemas() -> str:
    """Return JSON Schemas by name, as JSON.

    That of a ``spec``, the keys of ``every source``, and those of the tables, whose properties are the columns.
    """

def shipped() -> str:
    """Return the names of the tables that ship with the engine, of ``workload`` and of ``rtt``, as JSON."""

def engine_version() -> str:
    """Return the engine's version and the hash of its sources."""

def results_number() -> int:
    """Return the number of the engine's results: engines of one number give the same from the same spec and seed."""
