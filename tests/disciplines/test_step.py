from __future__ import annotations

import math

import pytest

import aqmlab as lab
from aqmlab.disciplines import step
from aqmlab.disciplines.catalogue import disciplines
from aqmlab.disciplines.queue import Queue
from aqmlab.disciplines.step import Load, step_response

SHORT = Load(low=0.8, high=1.5, up_s=2, down_s=6, end_s=8)
A_TENTH = step.PACKETS_PER_SEC / 10


@pytest.mark.parametrize("name", disciplines())
def test_every_discipline_can_be_put_through_it(name: str) -> None:
    rows = step_response(name, load=SHORT)
    assert rows["time_s"].to_list() == [tenth / 10 for tenth in range(1, 81)]
    wanted = [1.5 if SHORT.up_s < time <= SHORT.down_s else 0.8 for time in rows["time_s"]]
    assert all(0 < n <= load * A_TENTH + 60 for n, load in zip(rows["arrived"], wanted, strict=True)), (
        "no more than wanted, but for a packet of each source more or less"
    )
    assert rows["arrived"][0] == pytest.approx(0.8 * A_TENTH, rel=0.02)
    assert (rows["dropped"] + rows["marked"]).sum() < rows["arrived"].sum()


def test_the_sources_want_what_the_load_says() -> None:
    rows = step_response("droptail", load=SHORT)
    calm = rows.filter(rows["time_s"] <= SHORT.up_s)
    assert calm["arrived"].sum() == pytest.approx(20 * 0.8 * A_TENTH, rel=0.02)
    at_once = rows.filter((rows["time_s"] > SHORT.up_s) & (rows["time_s"] <= SHORT.up_s + 0.1))
    assert at_once["arrived"].sum() == pytest.approx(1.5 * A_TENTH, rel=0.05)


def test_nothing_waits_or_is_lost_below_the_links_rate() -> None:
    rows = step_response("droptail", load=Load(low=0.5, high=0.9, up_s=1, down_s=4, end_s=5))
    assert rows["dropped"].sum() == 0
    assert rows["delay_ms"].max() < 10, "a few packets that meet, of 40 sources"  # type: ignore[operator]


def test_sources_back_off_until_the_link_can_carry_them() -> None:
    rows = step_response("pi")
    loaded = rows.filter((rows["time_s"] > 20) & (rows["time_s"] <= 45))
    arrived, dropped, marked = (int(loaded[name].sum()) for name in ("arrived", "dropped", "marked"))
    assert 0.9 < (arrived - dropped) / (250 * A_TENTH) < 1.02
    assert dropped == 0
    assert 0 < marked / arrived < 0.02, "sources that do not listen would want 30 % too much"


def test_what_the_sources_hear_of_is_what_the_queue_does() -> None:
    run = step.StepRun(Queue("red", rate=step.rate(), overhead="0 B"), SHORT)
    rows, counters = run.rows(), run.queue.counters
    assert 0 < rows["dropped"].sum() == counters.dropped_early + counters.dropped_forced + counters.dropped_by_limit
    assert rows["arrived"].sum() == counters.offered
    assert 0 <= counters.marked - int(rows["marked"].sum()) <= run.queue.packets, "those that wait are not counted"
    assert rows["marked"].sum() > 0


def test_sources_that_hear_nothing_fill_the_queue() -> None:
    class Deaf(lab.Law):
        def on_enqueue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> lab.Verdict:
            return lab.Verdict.PASS

    rows = step_response(Deaf, load=SHORT, limit="100000 packets")
    waits = [rows.filter(rows["time_s"] == second)["delay_ms"].item() for second in (3, 4, 5, 6)]
    assert waits == sorted(waits)
    # All that is wanted beyond the link's rate would wait, were the sources not held back by their windows.
    assert 100 < waits[-1] < 1000 * (SHORT.high - 1) * (SHORT.down_s - SHORT.up_s)


def test_a_source_halves_once_a_round_trip_however_much_it_hears() -> None:
    class MarkAll(lab.Law):
        def on_enqueue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> lab.Verdict:
            return lab.Verdict.MARK

    run = step.StepRun(Queue(MarkAll, rate=step.rate(), overhead="0 B"), Load(up_s=1, down_s=2, end_s=3))
    early = [source for index, source in enumerate(run.sources) if index not in run.step_sources]
    arrived = run.rows()["arrived"].to_list()
    assert arrived[0] == pytest.approx(0.8 * A_TENTH, rel=0.02)
    for tenth in range(1, 6):
        halved = [2 ** -math.floor((tenth + 1) / 10 / source.base_rtt) for source in early]
        assert arrived[tenth] > A_TENTH * step.SHARE * sum(halved)
    assert arrived[5] < arrived[0] / 2


class EveryHundredth(lab.Law):
    """Drops every hundredth packet when it is to leave."""

    def __init__(self, config: object, link: lab.LinkContext, rng: lab.Stream) -> None:
        self.left = 0

    def on_dequeue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> lab.Verdict:
        self.left += 1
        return lab.Verdict.PASS if self.left % 100 else lab.Verdict.DROP


def test_a_drop_in_the_queue_shows_at_the_flows_next_dequeue() -> None:
    run = step.StepRun(Queue(EveryHundredth, rate=step.rate(), overhead="0 B"), SHORT)
    noticed = int(run.rows()["dropped"].sum())
    dropped = run.queue.counters.dropped_at_dequeue
    assert dropped > 200
    assert dropped - len(run.sources) <= noticed <= dropped, "the last one of a flow has no packet behind it"


def test_the_same_seed_gives_the_same_rows_and_another_does_not() -> None:
    first, repeat, other_seed = (step_response("pi", load=SHORT, seed=seed) for seed in (1, 1, 2))
    assert first.equals(repeat)
    assert not first.equals(other_seed)
