"""PI as a custom law. In this directory: aqmlab compare pi my_aqm:Pi --duration "2 min" --seeds 1."""

from dataclasses import dataclass
from typing import Annotated, Literal

import aqmlab as lab


class Pi(lab.Law):
    """A proportional-integral controller after Hollot et al. (2001), as aqmlab's own ``pi``."""

    @dataclass(frozen=True)
    class Config:
        """The parameters: type, unit and meaning, default."""

        q_ref: Annotated[float, "packets", "The queue length to hold."] = 24
        a: Annotated[float, "1/packet", "Gain on the present distance from q_ref."] = 1.822e-5
        b: Annotated[float, "1/packet", "Gain on the distance from q_ref one sample ago."] = 1.816e-5
        sampling_hz: Annotated[float, "Hz", "How often the queue is sampled."] = 170
        mode: Annotated[Literal["packet", "byte"], "name", "What the queue is measured in."] = "byte"
        mean_packet: Annotated[int, "bytes", "What counts as one packet in byte mode."] = 500

        def __post_init__(self) -> None:
            if not 0 < self.b < self.a:
                raise ValueError(f"a must be above b = {self.b} and b above 0, got a = {self.a}")

    def __init__(self, config: Config, link: lab.LinkContext, rng: lab.Stream) -> None:
        self.config, self.rng = config, rng
        self.p = 0.0
        self.q_old = 0.0
        self.period_ns = round(1e9 / config.sampling_hz)
        self.next_timeout = self.period_ns / 1e9

    def on_enqueue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> lab.Verdict:
        """Signal with p, scaled by the packet's size in byte mode."""
        p = self.p * (packet.size / self.config.mean_packet if self.config.mode == "byte" else 1)
        # Draw only when the outcome is open.
        signal = p > 0 and (p >= 1 or self.rng.uniform() < p)
        return lab.Verdict.MARK if signal else lab.Verdict.PASS

    def on_timeout(self, queue: lab.QueueState, now: lab.Time) -> None:
        """Sample the queue: p(kT) = a (q(kT) - q_ref) - b (q((k-1)T) - q_ref) + p((k-1)T), kept in [0, 1]."""
        c = self.config
        q = queue.bytes / c.mean_packet if c.mode == "byte" else queue.packets
        p = c.a * (q - c.q_ref) - c.b * (self.q_old - c.q_ref) + self.p
        self.p = min(max(p, 0.0), 1.0)
        self.q_old = q
        self.next_timeout = (now.ns + self.period_ns) / 1e9

    def probe(self) -> dict[str, float]:
        """Show p over time in the table ``queue``."""
        return {"p": self.p}
