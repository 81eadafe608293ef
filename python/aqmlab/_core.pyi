"""The engine, as Python sees it: a spec goes in as JSON, Arrow tables come out."""

from collections.abc import Callable
from typing import Literal, final

from aqmlab.disciplines.custom.law import Time

__all__ = [
    "Ack",
    "Connection",
    "Link",
    "LinkContext",
    "Packet",
    "Qdisc",
    "QueueState",
    "RateSample",
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
    """A checked spec with every default filled in; two are equal if all values are.

    Raises
    ------
    SpecError
        When the spec is invalid, naming the field, the accepted values and the value given.
    """

    def __new__(cls, spec_json: str) -> Resolved: ...
    @property
    def json(self) -> str:
        """The spec as canonical JSON."""

    @property
    def warmup_s(self) -> float:
        """The beginning of the measurement window, in simulated seconds."""

    @property
    def duration_s(self) -> float:
        """The length of the measurement window, in simulated seconds."""

    @property
    def links(self) -> list[Link]:
        """All links: those of the chain, or the only one."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs__(self) -> tuple[str]: ...

@final
class Link:
    """A link of a resolved spec, in numbers."""

    @property
    def rate_bps(self) -> int:
        """Its mean bit rate on the wire in direction 0, in bits a second."""

    @property
    def rate_back_bps(self) -> int:
        """The same in direction 1."""

    @property
    def varies(self) -> bool:
        """True if the rate changes, or the capacity is another kind than a bit rate."""

    @property
    def is_random(self) -> bool:
        """True if a direction draws its rates, each of which takes time to compute."""

    @property
    def rate_changes(self) -> list[tuple[float, list[int]]]:
        """Changes of the rate: the time in seconds, and the new rates of direction 0 and 1 in bits a second."""

    def drain_rates(self, direction: int, until_s: float, seed: int) -> list[tuple[float, float]]:
        """Return the times in seconds from which a direction's queue is emptied at other rates, in bits a second.

        Parameters
        ----------
        direction
            Direction 0 or 1.
        until_s
            The end of the times. What follows has the mean rate.
        seed
            The seed of the run, which decides rates that are drawn.
        """

    @property
    def delay_s(self) -> float:
        """The propagation delay of one direction, in seconds."""

    @property
    def overhead_bytes(self) -> int:
        """The bytes by which a frame on the wire is longer than its IP packet."""

    @property
    def header_bytes(self) -> int:
        """The part of the overhead that queue disciplines count in the size of a packet."""

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
_MakeControl = Callable[[Connection], object]

@final
class Simulation:
    """One run of one resolved spec with one seed.

    ``make_laws`` makes the custom law of each direction that has one. ``make_controls`` makes the custom congestion
    control of each connection, for each stack that has one; the common stack is the first. ``capture`` is the start and
    the end of a packet capture in seconds, and its largest number of packets.
    """

    def __new__(
        cls,
        resolved: Resolved,
        seed: int,
        make_laws: tuple[_MakeLaw | None, _MakeLaw | None] | None = None,
        make_controls: list[_MakeControl | None] | None = None,
        capture: tuple[float, float, int] | None = None,
    ) -> Simulation: ...
    @staticmethod
    def explained(
        resolved: Resolved,
        seed: int,
        make_laws: tuple[_MakeLaw | None, _MakeLaw | None] | None = None,
        make_controls: list[_MakeControl | None] | None = None,
        *,
        sources: list[int] | None = None,
        row: int | None = None,
        slowest: int = 0,
    ) -> Simulation:
        """Prepare the same run with an explanation of the time of each exchange, or of each page, by cause.

        Exchanges are those of the sources with these numbers, from 0; without any, of the web users. It records the
        timelines of the exchange or page with this ``row``, and of each that was among the ``slowest`` when it ended,
        for pages with their resources.
        """

    @property
    def now(self) -> float:
        """The virtual clock, in seconds since the start of the warm-up."""

    @property
    def end(self) -> float:
        """The end of the measured window on that clock, in seconds."""

    def advance(self, seconds: float) -> None:
        """Advance the simulation by ``seconds``, but not past its end.

        Releases the GIL. Raises the exception that a custom law or congestion control raised.
        """

    def take(self, table: str) -> RecordBatch:
        """Take the rows of one table recorded since the last call, if any.

        The tables are ``queue``, ``link``, ``exchanges`` and ``losses``; of an explained run also ``explanations``,
        ``explained_pages``, ``resources`` and ``timelines``.
        """

    def take_capture(self) -> bytes:
        """Take what has been added to the pcapng file since the last call."""

    @property
    def capture_cut_s(self) -> float | None:
        """The arrival time of the last captured packet, in seconds, if the capture is truncated."""

    def gauges(self) -> RecordBatch:
        """Return the present state of the links, during the warm-up too.

        One row for each direction of each link: packets queued, and since the start of the run packets arrived, bytes
        sent, packets dropped and marked. Reading it does not change the run.
        """

    def response_times(self) -> RecordBatch:
        """Return the log histogram of response times by response size."""

    def summary(self) -> str:
        """Return the results of the measured window as JSON."""

@final
class Qdisc:
    """A queue discipline without a network, driven by ``aqmlab.Queue``."""

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
        """Return the number of packets by outcome and cause."""

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
        """The number of its flow."""

    @property
    def ecn(self) -> Literal["not_ect", "ect0", "ect1", "ce"]:
        """Its ECN field."""

    @property
    def enqueued_at(self) -> Time:
        """The time of its arrival."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class QueueState:
    """The length of a queue, without the packet that the law decides on."""

    @property
    def packets(self) -> int:
        """Packets waiting."""

    @property
    def bytes(self) -> int:
        """Bytes waiting."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class LinkContext:
    """The properties of the link behind a law's queue."""

    @property
    def rate_bps(self) -> int:
        """Its bit rate on the wire, in bits a second."""

    @property
    def header_bytes(self) -> int:
        """The bytes of a frame's header that count in the size of a packet."""

    @property
    def overhead_bytes(self) -> int:
        """The bytes by which a frame on the wire is longer than that size."""

    def packets_per_sec(self, mean_packet: int) -> float:
        """Return the packets of ``mean_packet`` IP bytes that the link carries in a second, frame overhead included."""

@final
class Connection:
    """A connection, as its congestion control may know it."""

    @property
    def mss(self) -> int:
        """The maximum segment size of the stack in bytes; segments may be smaller by their options."""

    @property
    def initial_window(self) -> int:
        """The initial window in bytes."""

    @property
    def min_window(self) -> int:
        """The minimum window after a congestion mark in bytes."""

@final
class Ack:
    """An acknowledgement that delivers data."""

    @property
    def now(self) -> Time:
        """The time of its arrival."""

    @property
    def bytes(self) -> int:
        """Bytes newly delivered: acknowledged in order, or by SACK."""

    @property
    def mss(self) -> int:
        """The sender's segment size in bytes."""

    @property
    def in_flight(self) -> int:
        """Bytes in flight after it."""

    @property
    def marked(self) -> int:
        """Those of ``bytes`` that the receiver reports as marked, with feedback that counts marks."""

    @property
    def lost(self) -> int:
        """Bytes found lost since the previous acknowledgement."""

    @property
    def rtt_s(self) -> float | None:
        """The round-trip time that it measured, in seconds."""

    @property
    def one_way_delay_s(self) -> float | None:
        """The one-way delay of the segment whose timestamp it echoes, in seconds, to the millisecond."""

    @property
    def new_round(self) -> bool:
        """True for the first acknowledgement of a round trip."""

    @property
    def window_limited(self) -> bool:
        """True if the sender used the whole window since the previous acknowledgement."""

    @property
    def pacing_limited(self) -> bool:
        """True if only pacing kept the sender from using the whole window."""

    @property
    def rate(self) -> RateSample | None:
        """The recent delivery rate, of a stack with SACK."""

@final
class RateSample:
    """A sample of delivery-rate estimation (draft-ietf-ccwg-bbr)."""

    @property
    def delivered(self) -> int:
        """Bytes delivered since the acknowledged segment was sent."""

    @property
    def interval_s(self) -> float:
        """The longer of the time to send them and the time to have them acknowledged, in seconds; 0 without a rate."""

    @property
    def lost(self) -> int:
        """Bytes found lost since that segment was sent."""

    @property
    def in_flight_at_send(self) -> int:
        """Bytes in flight when that segment was sent, including the segment."""

    @property
    def app_limited(self) -> bool:
        """True if the application had nothing to send in this interval, so that the path may be faster."""

    @property
    def bps(self) -> float | None:
        """The delivery rate in bits per second; ``None`` without a rate."""

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
    """Return the testbeds, their values and the source of each value, as JSON."""

def profiles() -> str:
    """Return the TCP stack profiles and their values as JSON."""

def schemas() -> str:
    """Return JSON Schemas by name, as JSON.

    They describe a ``spec``, the keys of ``every source``, and the tables, whose properties are the columns.
    """

def shipped() -> str:
    """Return the names of the tables that ship with the engine, of ``workload`` and of ``rtt``, as JSON."""

def engine_version() -> str:
    """Return the engine's version and the hash of its sources."""

def results_number() -> int:
    """Return the results number: engines with the same number give the same results from the same spec and seed."""
