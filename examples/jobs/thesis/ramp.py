"""A thesis's new law: the probability of a signal is a ramp of the delay that a packet has waited."""

from dataclasses import dataclass
from typing import Annotated

import aqmlab as lab


class Ramp(lab.Law):
    """Signals a packet that has waited longer than `low`, with a probability that reaches 1 at `high`."""

    @dataclass(frozen=True)
    class Config:
        """The parameters: type, unit and meaning, default."""

        low: Annotated[float, "ms", "The delay at which the ramp begins."] = 5.0
        high: Annotated[float, "ms", "The delay from which every packet is signalled."] = 200.0

        def __post_init__(self) -> None:
            if not 0 <= self.low < self.high:
                raise ValueError(f"low must be below high = {self.high}, got {self.low}")

    def on_dequeue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> lab.Verdict:
        """Draw with the ramp's probability at this packet's delay."""
        delay = 1e3 * (now - packet.enqueued_at)
        self.p = min(max((delay - self.config.low) / (self.config.high - self.config.low), 0.0), 1.0)
        return lab.Verdict.MARK if self.rng.uniform() < self.p else lab.Verdict.PASS

    def probe(self) -> dict[str, float]:
        """Show p over time in the table ``queue``."""
        return {"p": getattr(self, "p", 0.0)}
