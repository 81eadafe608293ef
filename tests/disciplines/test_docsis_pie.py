"""DOCSIS-PIE against the pseudocode of RFC 8034, appendix A, decision by decision."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

import pytest

import aqmlab as lab
from docsis import DocsisPie, Rates

MBIT = 125_000
"""Bytes a second in a Mbit/s."""

OVERHEAD = 18
"""Bytes of each frame that the queue does not count: Ethernet's header and check sequence."""

RATE = 10 * MBIT


def oracle_of(constants: dict[str, Any], rates: Rates) -> Callable[[Any, Any, lab.Stream], lab.Law]:
    """Return a custom law that decides as the pseudocode does, with the random numbers of the queue."""

    class Oracle(lab.Law):
        limit = f"{rates.buffer} B"

        def __init__(self, config: Any, link: lab.LinkContext, rng: lab.Stream) -> None:
            super().__init__(config, link, rng)
            self.pie = DocsisPie(rates, constants, rng.uniform)
            self.tokens, self.filled_at = float(rates.burst), 0.0
            self.updates = 1
            self.next_timeout = self.pie.INTERVAL

        def msrtokens(self, now: float) -> float:
            return min(rates.burst, self.tokens + rates.msr * (now - self.filled_at))

        def on_enqueue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> Literal["pass", "drop"]:
            if queue.bytes + packet.size > rates.buffer:
                return "pass"
            return "drop" if self.pie.drop_early(packet.size, queue.bytes) else "pass"

        def on_overflow(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> None:
            self.pie.accu_prob_ = 0.0

        def on_dequeue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> Literal["pass", "drop"]:
            self.tokens = self.msrtokens(now) - packet.size - OVERHEAD
            self.filled_at = float(now)
            return "pass"

        def on_timeout(self, queue: lab.QueueState, now: lab.Time) -> None:
            byte_length = queue.bytes + OVERHEAD * queue.packets
            self.pie.calculate_drop_prob(self.pie.delay(byte_length, max(0.0, self.msrtokens(now))))
            self.updates += 1
            self.next_timeout = self.updates * self.pie.INTERVAL

        def probe(self) -> dict[str, float]:
            state = ["INACTIVE", "QUIESCENT", "ACTIVE"].index(self.pie.aqm_state_)
            return {"drop_prob": self.pie.drop_prob_, "qdelay": self.pie.qdelay_old_, "aqm_state": float(state)}

    return Oracle


def phases(seed: int, seconds: float) -> list[tuple[float, str, int]]:
    """Return arrivals and departures in phases of overload and of quiet, as times, kinds and sizes."""
    rng = random.Random(seed)
    events, now, phase_ends, load = list[tuple[float, str, int]](), 0.0, 0.0, 1.0
    while now < seconds:
        if now >= phase_ends:
            phase_ends = now + rng.choice([0.02, 0.1, 0.3, 0.7, 1.4])
            load = rng.choice([0.0, 0.4, 0.9, 1.1, 1.3, 3.0])
        now += rng.expovariate(RATE / 1000 * (1 + load))
        size = rng.choice([40, 300, 1000, 1500])
        events.append((round(now, 9), "arrive" if rng.random() * (1 + load) < load else "leave", size))
    return events


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the RFC's values": ({}, {}),
    "a peak rate": ({}, {"peak_rate": "30 Mbit/s", "burst": "60 kB"}),
    "a peak rate and few tokens": ({}, {"peak_rate": "40 Mbit/s", "burst": "2 kB"}),
    "eager gains": ({"A": 4.0, "B": 9.0}, {"a": 4.0, "b": 9.0}),
    "a short allowance": (
        {"MAX_BURST": 0.048, "BURST_RESET_TIMEOUT": 0.1},
        {"max_burst": "48 ms", "burst_reset_timeout": "100 ms"},
    ),
    "other sums": ({"PROB_LOW": 0.3, "PROB_HIGH": 1.5}, {"prob_low": 0.3, "prob_high": 1.5}),
    "other sizes": ({"MEAN_PKTSIZE": 500, "MIN_PKTSIZE": 200}, {"mean_packet": "500 B", "min_packet": "200 B"}),
    "other delays": (
        {"LATENCY_TARGET": 0.004, "LATENCY_LOW": 0.001, "LATENCY_HIGH": 0.02},
        {"latency_target": "4 ms", "latency_low": "1 ms", "latency_high": "20 ms"},
    ),
}
"""Constants of the pseudocode, and the same as parameters."""


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("seed", [1, 2])
def test_each_packet_has_the_fate_of_the_rfcs_pseudocode(case: str, seed: int) -> None:
    constants, parameters = CASES[case]
    peak = 125 * lab_rate(parameters.get("peak_rate", "10 Mbit/s"))
    burst = {"60 kB": 60_000, "2 kB": 2_000}.get(parameters.get("burst", ""), 3044)
    rates = Rates(msr=RATE, peak_rate=peak, burst=burst, buffer=peak // 10)
    line: dict[str, Any] = {"rate": "10 Mbit/s", "overhead": f"{OVERHEAD} B", "seed": seed}
    engine = lab.Queue("docsis_pie", **parameters, **line)
    oracle = lab.Queue(oracle_of(constants, rates), **line)  # type: ignore[arg-type]
    for time, kind, size in phases(seed, 5.0):
        if kind == "arrive":
            fates = [queue.enqueue(size=size, ecn="ect0", at=time) for queue in (engine, oracle)]
            assert fates[0] == fates[1], time
        else:
            left = [queue.dequeue(at=time) for queue in (engine, oracle)]
            assert left[0] == left[1]
        seen, expected = engine.probe(), oracle.probe()
        assert seen == pytest.approx(expected, rel=1e-9, abs=1e-12), time
    assert engine.counters == oracle.counters
    assert engine.counters.dropped_forced > 20, "the traffic reaches the law"
    assert engine.counters.marked == engine.counters.dropped_early == 0


def lab_rate(text: str) -> int:
    """Return a rate in kbit/s."""
    return int(text.removesuffix(" Mbit/s")) * 1000


def test_every_state_and_every_limit_is_reached() -> None:
    queue = lab.Queue("docsis_pie", rate="10 Mbit/s", overhead=f"{OVERHEAD} B")
    states = set[float]()
    for time, kind, size in phases(2, 12.0):
        if kind == "arrive":
            queue.enqueue(size=size, at=time)
        else:
            queue.dequeue(at=time)
        states.add(queue.probe()["aqm_state"])
    assert states == {0.0, 1.0, 2.0}
    assert queue.counters.dropped_by_limit > 0 < queue.counters.dropped_forced
