from __future__ import annotations

import pytest

import aqmlab as lab
from aqmlab import step
from aqmlab.catalogue import disciplines
from aqmlab.queue import Queue
from aqmlab.step import Load, step_response

SHORT = Load(low=0.8, high=1.5, up_s=2, down_s=6, end_s=8)
A_TENTH = step.PACKETS_PER_SEC / 10


@pytest.mark.parametrize("name", disciplines())
def test_the_sources_want_what_the_load_says(name: str) -> None:
    rows = step_response(name, load=SHORT)
    assert rows["time_s"].to_list() == [tenth / 10 for tenth in range(1, 81)]
    calm = rows.filter(rows["time_s"] <= SHORT.up_s)
    assert calm["arrived"].sum() == pytest.approx(20 * 0.8 * A_TENTH, rel=0.02)
    at_once = rows.filter((rows["time_s"] > SHORT.up_s) & (rows["time_s"] <= SHORT.up_s + 0.1))
    assert at_once["arrived"].sum() == pytest.approx(1.5 * A_TENTH, rel=0.05)
    assert rows["lost"].sum() < rows["arrived"].sum()


def test_nothing_waits_or_is_lost_below_the_links_rate() -> None:
    rows = step_response("droptail", load=Load(low=0.5, high=0.9, up_s=1, down_s=4, end_s=5))
    assert rows["lost"].sum() == 0
    assert rows["delay_ms"].max() < 10, "a few packets that meet, of 40 sources"  # type: ignore[operator]


def test_sources_back_off_until_the_link_can_carry_them() -> None:
    rows = step_response("pi")
    loaded = rows.filter((rows["time_s"] > 20) & (rows["time_s"] <= 45))
    arrived, lost = int(loaded["arrived"].sum()), int(loaded["lost"].sum())
    assert 0.9 < (arrived - lost) / (250 * A_TENTH) < 1.02
    assert lost / arrived < 0.02, "sources that do not listen would lose 23 %"


def test_what_a_source_loses_is_what_the_queue_drops() -> None:
    run = step.Run(Queue("red", rate=step.rate(), overhead="0 B"), SHORT)
    rows = run.rows()
    counters = run.queue.counters
    dropped = counters.offered - counters.delivered - run.queue.packets
    assert 0 < rows["lost"].sum() == dropped
    assert rows["arrived"].sum() == counters.offered


class EveryHundredth(lab.Law):
    """Drops every hundredth packet when it is to leave."""

    def __init__(self, config: object, link: lab.LinkContext, rng: lab.Stream) -> None:
        self.left = 0

    def on_dequeue(self, packet: lab.Packet, queue: lab.QueueState, now: lab.Time) -> lab.Verdict:
        self.left += 1
        return lab.Verdict.PASS if self.left % 100 else lab.Verdict.DROP


def test_a_loss_within_the_queue_is_heard_of_when_the_flows_next_packet_leaves() -> None:
    run = step.Run(Queue(EveryHundredth, rate=step.rate(), overhead="0 B"), SHORT)
    lost = int(run.rows()["lost"].sum())
    dropped = run.queue.counters.dropped_at_dequeue
    assert dropped > 200
    assert dropped - len(run.sources) <= lost <= dropped, "the last one of a flow may not have been noticed"


def test_the_same_seed_gives_the_same_rows_and_another_does_not() -> None:
    first, again, other = (step_response("pi", load=SHORT, seed=seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
