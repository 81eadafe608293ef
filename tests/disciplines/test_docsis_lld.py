"""Low-latency DOCSIS against a transcription: classification, ramp, coupling, scheduler, delay of the Classic queue.

Queue protection is off: it has an oracle of its own in the engine's tests.
"""

from __future__ import annotations

import random
from typing import Any, Literal

import pytest

import aqmlab as lab
from docsis import Item, LowLatency

OVERHEAD = 38

CASES: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {
    "the specification's values": (10, {}, {}),
    "a slow link": (2, {}, {}),
    "a strong coupling": (10, {"K": 8.0}, {"coupling_factor": 8.0}),
    "no coupling": (10, {"K": 0.0}, {"coupling_factor": 0.0}),
    "equal weights": (10, {"SCHEDULER_WEIGHT": 128}, {"weight": 128}),
    "a large share and small rounds": (
        20,
        {"SCHEDULER_WEIGHT": 250, "QUANTUM": 400},
        {"weight": 250, "quantum": "400 B"},
    ),
    "a long ramp": (50, {"MAXTH_US": 8000, "LG_RANGE": 23}, {"max_th": "8 ms", "lg_range": 23}),
    "short frames": (20, {"MAX_FRAME_SIZE": 300, "MAXTH_US": 500}, {"max_frame": "300 B", "max_th": "500 us"}),
}
"""Mbit/s, the constants of the transcription, and the same as parameters."""


def captured_stream(seed: int) -> lab.Stream:
    """Return the random stream of the queue, behind the draw of the secret of queue protection."""
    streams = list[lab.Stream]()

    class Capture(lab.Law):
        def __init__(self, config: Any, link: lab.LinkContext, rng: lab.Stream) -> None:
            super().__init__(config, link, rng)
            streams.append(rng)

        def on_enqueue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> Literal["pass"]:
            return "pass"

    lab.Queue(Capture, seed=seed)
    streams[0].uniform()
    return streams[0]


def events(mbit: int, seed: int, packets: int) -> list[tuple[float, str, int, Any]]:
    """Return arrivals and departures in phases of different loads, as times, kinds, sizes and ECN fields."""
    rng = random.Random(seed)
    per_second = mbit * 125_000 / 900
    drawn, now, phase_ends = list[tuple[float, str, int, Any]](), 0.0, 0.0
    load, low_latency = 1.0, 0.5
    while len(drawn) < packets:
        if now >= phase_ends:
            phase_ends = now + rng.choice([0.1, 0.3, 0.7])
            load, low_latency = rng.choice([0.3, 0.95, 1.1, 1.4]), rng.choice([0.0, 0.2, 0.6, 1.0])
        now += rng.expovariate(per_second * (1 + load))
        kind = "arrive" if rng.random() * (1 + load) < load else "leave"
        ecn = rng.choice(["ect1", "ect1", "ce"] if rng.random() < low_latency else ["ect0", "not_ect"])
        drawn.append((round(now, 9), kind, rng.choice([60, 300, 1000, 1500, 1500]), ecn))
    return drawn


@pytest.mark.parametrize("case", list(CASES))
def test_each_packet_has_the_fate_of_the_transcription(case: str) -> None:
    mbit, constants, parameters = CASES[case]
    line: dict[str, Any] = {"rate": f"{mbit} Mbit/s", "overhead": f"{OVERHEAD} B", "seed": 3}
    engine = lab.Queue("docsis_lld", qprotect=False, **parameters, **line)
    oracle = LowLatency(mbit * 125_000, OVERHEAD, constants, captured_stream(3).uniform)
    updates, lanes = 1, set[bool]()
    for time, kind, size, ecn in events(mbit, 7, 12_000):
        while updates * oracle.pie.INTERVAL <= time:
            oracle.update()
            updates += 1
        if kind == "arrive":
            fate = engine.enqueue(size=size, ecn=ecn, at=time)
            assert fate == oracle.enqueue(Item(size, ecn, time)), time
        else:
            left, expected = engine.dequeue(at=time), oracle.dequeue()
            assert (left and (left.size, left.ecn, left.enqueued_at)) == expected, time
            lanes |= {left.ecn in ("ect1", "ce")} if left else set()
        seen = engine.probe()
        assert (seen["ll_packets"], seen["classic_packets"]) == (len(oracle.lq), len(oracle.cq)), time
        expected_variables = [oracle.pie.drop_prob_, oracle.pie.qdelay_old_, oracle.prob_cl(), oracle.prob_native]
        names = ("drop_prob", "qdelay", "p_cl", "prob_native")
        assert [seen[name] for name in names] == pytest.approx(expected_variables, rel=1e-9, abs=1e-12), time
    assert lanes == {True, False}
    assert engine.counters.marked > 100, "the traffic reaches the ramp and the coupling"
    assert engine.counters.dropped_forced > 5, "the traffic reaches the law of the Classic queue"
