"""A queue discipline alone: what a person who drives one packet by packet may rely on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.queue import Ecn

ECN = get_args(Ecn)

EAGER: dict[str, dict[str, Any]] = {
    "droptail": {"limit": "10 packets"},
    "red": {"min_th": 2, "max_th": 6, "w_q": 0.2},
    "pi": {"q_ref": 3, "a": 0.03, "b": 0.025},
    "rem": {"q_ref": 3, "gamma": 0.1},
}
"""Settings under which a short trace gives a law something to say; other disciplines run with their defaults."""


@pytest.fixture(params=list(catalogue.disciplines()))
def queue(request: pytest.FixtureRequest) -> lab.Queue:
    return lab.Queue(request.param, rate="10 Mbit/s", **EAGER.get(request.param, {}))


def traffic(queue: lab.Queue, packets: int, seed: int = 1) -> list[str | None]:
    """Offer random packets, somewhat more than are fetched; return what became of them and what was fetched."""
    rng = random.Random(seed)
    now, verdicts = 0.0, list[str | None]()
    for _ in range(packets):
        now += rng.expovariate(2000)
        verdicts.append(queue.enqueue(size=rng.randint(40, 1500), flow=rng.randint(0, 9), ecn=rng.choice(ECN), at=now))
        if rng.random() < 0.9:
            now += rng.expovariate(10_000)
            packet = queue.dequeue(at=now)
            verdicts.append(packet and repr(packet))
    return verdicts


def test_every_packet_is_accounted_for(queue: lab.Queue) -> None:
    verdicts = traffic(queue, 2000)
    counters = queue.counters
    dropped_at_entrance = counters.dropped_early + counters.dropped_forced + counters.dropped_by_limit
    assert counters.offered == 2000 == counters.queued + dropped_at_entrance
    assert counters.queued == counters.delivered + counters.dropped_at_dequeue + counters.evicted + queue.packets
    assert verdicts.count("dropped") == dropped_at_entrance
    assert counters.delivered == sum(text is not None and text.startswith("Packet(") for text in verdicts)


def test_one_seed_gives_one_result_and_another_does_not() -> None:
    def answers(seed: int) -> list[str | None]:
        return traffic(lab.Queue("pi", seed=seed, **EAGER["pi"]), 2000)

    assert answers(1) == answers(1) != answers(2)


def test_packets_leave_as_they_came_and_marked_ones_with_ce() -> None:
    queue = lab.Queue("red", min_th=1, max_th=5, w_q=1, max_p=0.5, ecn_policy="mark")
    verdicts = [queue.enqueue(size=100 + n, flow=n, ecn="ect1", at=0.001 * n) for n in range(10)]
    assert {"queued", "marked"} == set(verdicts)
    for n, verdict in enumerate(verdicts):
        packet = queue.dequeue(at=0.02)
        assert packet is not None
        assert (packet.size, packet.flow) == (100 + n, n)
        assert packet.ecn == ("ce" if verdict == "marked" else "ect1")
        assert packet.enqueued_at == n / 1000
        assert packet.enqueued_at.ns == n * 1_000_000
    assert queue.dequeue(at=0.03) is None


def test_packets_of_one_content_are_equal() -> None:
    def packet(size: int) -> lab.Packet | None:
        queue = lab.Queue("droptail")
        queue.enqueue(size=size, at=0)
        return queue.dequeue(at=1)

    assert packet(100) == packet(100) != packet(101)


def test_a_timer_runs_after_departures_and_before_arrivals() -> None:
    sample = round(1e9 / 170) / 1e9

    def sampled(act: str) -> bool:
        queue = lab.Queue("pi", q_ref=0)
        queue.enqueue(size=1500, at=0)
        if act == "enqueue":
            queue.enqueue(size=1500, at=sample)
        elif act == "dequeue":
            queue.dequeue(at=sample)
        else:
            queue.advance(to=sample - 1e-9 if act == "advance not quite" else sample)
        return queue.probe()["p"] > 0

    assert [sampled(act) for act in ("enqueue", "dequeue", "advance", "advance not quite")] == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("call", ["enqueue", "dequeue", "advance"])
def test_time_does_not_run_backwards(call: str) -> None:
    queue = lab.Queue("pi")
    queue.advance(to=1.5)
    acts: dict[str, Callable[[float], object]] = {
        "enqueue": lambda at: queue.enqueue(size=1000, at=at),
        "dequeue": lambda at: queue.dequeue(at=at),
        "advance": lambda at: queue.advance(to=at),
    }
    act = acts[call]
    with pytest.raises(ValueError, match=r"^(at|to): must not lie before 1\.5 s, where the queue is, got 1\.25 s$"):
        act(1.25)
    for odd in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"must be a time from 0 to 1e9 s, got"):
            act(odd)
    assert queue.now == 1.5
    assert queue.counters.offered == 0


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        ({"size": 0}, "size: must be a whole number from 1 to 65535, got 0"),
        ({"size": 65_536}, "size: must be a whole number from 1 to 65535, got 65536"),
        ({"size": 1.5}, "size: must be a whole number from 1 to 65535, got 1.5"),
        ({"size": "big"}, "size: must be a whole number from 1 to 65535, got 'big'"),
        ({"flow": -1}, "flow: must be a whole number from 0 to 4294967295, got -1"),
        ({"flow": 10**30}, "flow: must be a whole number from 0 to 4294967295, got 1"),
        ({"ecn": "ECT(0)"}, 'ecn: must be one of not_ect, ect0, ect1, ce, got "ECT(0)"'),
    ],
)
def test_a_packet_that_cannot_be_is_refused_and_not_counted(packet: dict[str, Any], message: str) -> None:
    queue = lab.Queue("droptail")
    with pytest.raises(ValueError) as error:  # noqa: PT011
        queue.enqueue(**{"size": 1000, "at": 0, **packet})
    assert str(error.value).startswith(message)
    assert queue.counters.offered == 0


@pytest.mark.parametrize(
    ("discipline", "arguments", "message"),
    [
        ("pie_", {}, "queue: no discipline is called 'pie_'"),
        ("pi", {"qref": 24}, "queue: pi has no parameter 'qref' (did you mean 'q_ref'?); it has "),
        ("pi", {"q_ref": -1}, "queue.pi.q_ref: must be between 0 and 1e9 packets, got -1"),
        ("pi", {"q_ref": float("nan")}, "queue: q_ref must be a finite number, got nan"),
        ("pi", {"q_ref": object()}, "queue: Object of type object is not JSON serializable"),
        ("red", {"min_th": 12, "max_th": 8}, "queue.red.max_th: must be above min_th = 12 packets, got 8"),
        ("droptail", {"limit": "25"}, 'queue.droptail.limit: "25": write packets or a size'),
        ("droptail", {"rate": "1.5 Mbit"}, 'rate: "1.5 Mbit": the unit must be one of'),
        ("droptail", {"overhead": "38"}, 'overhead: "38": write a unit'),
    ],
)
def test_a_queue_that_cannot_be_is_refused_as_in_a_spec(
    discipline: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(lab.SpecError) as error:
        lab.Queue(discipline, **arguments)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_queue_says_what_it_is_and_what_waits() -> None:
    queue = lab.Queue("red", min_th=5, max_th=15)
    queue.enqueue(size=1000, at=0.25)
    assert repr(queue) == "<Queue red(min_th=5, max_th=15) at 0.25 s: 1 packet, 1000 B>"


@given(st.floats(0, 1e6))
def test_seconds_become_the_nearest_nanosecond(time_s: float) -> None:
    queue = lab.Queue("droptail")
    queue.enqueue(size=1, at=time_s)
    packet = queue.dequeue(at=time_s)
    assert packet is not None
    assert abs(packet.enqueued_at.ns - time_s * 1e9) <= 0.5
    assert packet.enqueued_at == packet.enqueued_at.ns / 1e9
