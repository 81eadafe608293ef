from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab.models.accounting import Entry, Ledger, Verdict, audit_entry, queue_share
from aqmlab.models.intervals import Interval
from aqmlab.models.timers import Drops, Hosts, RoundTrips, max_cost_s

NEAR = RoundTrips(mean_s=0.08, longest_s=0.15)


def entry(**given: Any) -> Entry:
    """A row of 1,000 users whose requests take 6 s without congestion, and 6.5 with a loss of 4 %."""
    row: dict[str, Any] = {
        "users": 1000,
        "seconds": 6000,
        "completed": Interval.exactly(1000 * 6000 / 6.5),
        "uncongested": Interval.exactly(1e6),
        "loss": Interval.exactly(0.04),
        "packets": Interval.exactly(16),
        "queue_s": Interval.exactly(0),
        "drops": Drops.BY_PACKETS,
        "round_trips": NEAR,
    }
    return Entry(**row | given)


def closed_loop(cost_s: float, *, loss: float, seed: int) -> tuple[int, int, int, int]:
    """Requests of 200 users in 6,000 s with and without losses of a known cost, packets sent, and packets lost."""
    rng = np.random.default_rng(seed)
    counts = []
    sent = lost = 0
    for share in (loss, 0.0):
        completed = 0
        for _ in range(200):
            # 16 packets a request are delivered at any cost; a user thinks for 6 s on average.
            losses = rng.negative_binomial(16, 1 - share, 2500)
            cycles = rng.exponential(6.0, 2500) + 0.2 + cost_s * losses
            n = int(np.searchsorted(np.cumsum(cycles), 6000.0))
            assert n < 2500
            completed += n
            sent += 16 * n + int(losses[:n].sum())
            lost += int(losses[:n].sum()) if share else 0
        counts.append(completed)
        if share:
            arrived = sent
    return counts[0], counts[1], arrived, lost


@pytest.mark.parametrize("cost_s", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("loss", [0.01, 0.06])
def test_a_closed_loop_gives_back_what_a_lost_packet_cost_in_it(cost_s: float, loss: float) -> None:
    completed, calm, arrived, lost = closed_loop(cost_s, loss=loss, seed=1)
    # Both counts vary by chance: renewals whose cycles have a standard deviation of some 6 s.
    books = Ledger.from_entry(
        entry(
            users=200,
            completed=Interval.around(completed, 2.5 * math.sqrt(completed)),
            uncongested=Interval.around(calm, 2.5 * math.sqrt(calm)),
            loss=Interval.exactly(lost / arrived),
        )
    )
    assert books.lost.low == pytest.approx(lost / completed, rel=1e-9)
    assert books.cost_s.low < cost_s < books.cost_s.high
    exactly = Ledger.from_entry(
        entry(
            users=200,
            completed=Interval.exactly(completed),
            uncongested=Interval.exactly(calm),
            loss=Interval.exactly(lost / arrived),
        )
    )
    assert exactly.cost_s.middle == pytest.approx(cost_s, abs=0.12 / books.lost.low)


@given(st.floats(0.1, 4), st.floats(0.002, 0.08), st.floats(5.9, 6.3))
def test_what_printing_rounds_away_is_in_the_interval(cost_s: float, loss: float, calm_s: float) -> None:
    users, seconds = 18_660, 5400
    extra = cost_s * 16 * loss / (1 - loss)
    calm, completed = users * seconds / calm_s, users * seconds / (calm_s + extra)
    books = Ledger.from_entry(
        entry(
            users=users,
            seconds=seconds,
            completed=Interval.printed(round(completed / 1e6, 1)) * 1e6,
            uncongested=Interval.printed(round(calm / 1e6, 1)) * 1e6,
            loss=Interval.printed(round(100 * loss, 1)) * 0.01,
        )
    )
    assert books.extra_s.low - 1e-9 <= extra <= books.extra_s.high + 1e-9
    assert books.cost_s.low - 1e-9 <= cost_s <= books.cost_s.high + 1e-9


@pytest.fixture(scope="module")
def one_object_pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Users whose pages are one small object: nothing is fetched in parallel, and nothing takes minutes."""
    directory = tmp_path_factory.mktemp("loop")
    (directory / "rtt.toml").write_text('source = "one for all"\n[distribution.uniform_ms]\nmin = 80\nmax = 80\n')
    source = Path(__file__).parents[2] / "crates" / "workload" / "data" / "unc2001.json"
    workload = json.loads(source.read_text(encoding="utf-8")) | {
        "name": "single",
        "notes": [],
        "top_level_bytes": {"source": "made up", "nodes": [[0, 500], [0.5, 2000], [0.99, 20000]]},
        "think_seconds": {"source": "made up", "nodes": [[0, 1], [0.5, 2], [0.99, 4]]},
        "embedded_per_page": {"min": 0, "probabilities": [1.0]},
    }
    (directory / "single.json").write_text(json.dumps(workload), encoding="utf-8")
    return directory


@pytest.mark.parametrize("queue", [{"droptail": {"limit": 12}}, {"red": {"min_th": 5, "max_th": 15}}])
def test_the_engines_users_lose_what_their_responses_take_longer(one_object_pages: Path, queue: dict[str, Any]) -> None:
    users = {
        "per_side": 360,
        "rtt": str(one_object_pages / "rtt.toml"),
        "workload": str(one_object_pages / "single.json"),
    }
    results = [
        lab.run(
            lab.Experiment(
                testbed="unc-2003",
                link=link,
                queue=law,
                users=users,
                protocol={"warmup": "20 s", "duration": "100 s"},
            ),
            seed=1,
            out=one_object_pages / "out",
        )
        for link, law in (
            ({"rate": "5 Mbit/s", "device_fifo": 2}, queue),
            ({"rate": "1 Gbit/s"}, {"droptail": {"limit": 2400}}),
        )
    ]
    congested, calm = (result.summary for result in results)
    arrived, packets, drops = results[0].link.select("arrived", "packets", "drops").sum().row(0)
    books = Ledger.from_entry(
        entry(
            users=720,
            seconds=100,
            completed=Interval.exactly(congested["completed_requests"]),
            uncongested=Interval.exactly(calm["completed_requests"]),
            loss=Interval.exactly(drops / arrived),
            packets=Interval.exactly(packets / congested["completed_requests"]),
        )
    )
    longer = (congested["response_time_ms"]["mean"] - calm["response_time_ms"]["mean"]) / 1e3
    assert longer > 0.5
    assert books.extra_s.middle == pytest.approx(longer, rel=0.03)
    # What waits or is on the wire when the clock stops has arrived and not left.
    assert books.lost.middle == pytest.approx(drops / congested["completed_requests"], rel=0.01)


BEHIND_10_MBIT = [
    ({"droptail": {"limit": 24}}, Drops.BY_PACKETS),
    ({"ared": {"min_th": 8, "max_th": 24}}, Drops.BY_PACKETS),
    ({"ared": {"min_th": 8, "max_th": 24, "mode": "byte"}}, Drops.BY_BYTES),
    ({"pi": {"q_ref": 24, "mode": "byte"}}, Drops.BY_BYTES),
    ({"rem": {"q_ref": 24, "mode": "byte"}}, Drops.BY_BYTES),
]


@pytest.fixture(scope="module")
def calm_requests(tmp_path_factory: pytest.TempPathFactory) -> int:
    summary = behind({"rate": "1 Gbit/s"}, {"droptail": {"limit": 2400}}, tmp_path_factory.mktemp("calm"))
    return int(summary["completed_requests"])


def behind(link: dict[str, Any], queue: dict[str, Any], out: Path) -> Any:
    experiment = lab.Experiment(
        testbed="unc-2003",
        link=link,
        queue=queue,
        users={"per_side": 921},
        protocol={"warmup": "20 s", "duration": "400 s"},
    )
    return lab.run(experiment, seed=1, out=out).summary


@pytest.mark.parametrize(("queue", "drops"), BEHIND_10_MBIT)
def test_no_law_of_ours_makes_a_loss_dearer_than_timers_allow(
    queue: dict[str, Any], drops: Drops, calm_requests: int, tmp_path: Path
) -> None:
    summary = behind({"rate": "10 Mbit/s", "device_fifo": 4}, queue, tmp_path)
    n = summary["completed_requests"]
    bits = summary["throughput_mbps"] * 1e6 * 2 * 400
    audit = audit_entry(
        entry(
            users=2 * 921,
            seconds=400,
            completed=Interval.exactly(n),
            uncongested=Interval.exactly(calm_requests),
            loss=Interval.exactly(summary["loss_percent"] / 100),
            packets=Interval.exactly(bits / 8 / n / summary["packet_bytes_mean"]),
            queue_s=Interval.exactly(queue_share(summary["queue_packets_mean"], 2400).high),
            drops=drops,
        ),
        # Our hosts' first timer.
        Hosts(first_s=3),
    )
    assert summary["loss_percent"] > 2
    assert audit.verdict is Verdict.CONSISTENT
    assert audit.max_cost_s is not None
    # It is less than twice what a loss costs here.
    assert 0.5 * audit.max_cost_s < audit.ledger.cost_s.middle < audit.max_cost_s


def test_marks_say_nothing_of_losses() -> None:
    audit = audit_entry(entry(drops=None))
    assert (audit.verdict, audit.max_cost_s) == (Verdict.INCONCLUSIVE, None)
    assert "marks" in audit.reason


def test_a_queue_that_may_have_been_all_says_nothing_of_losses() -> None:
    almost = audit_entry(entry(queue_s=Interval(0, 0.49)))
    all_of_it = audit_entry(entry(queue_s=Interval(0, 0.51)))
    assert almost.verdict is Verdict.CONSISTENT
    assert all_of_it.verdict is Verdict.INCONCLUSIVE
    assert "queue" in all_of_it.reason


def test_nothing_extra_says_nothing() -> None:
    assert audit_entry(entry(completed=Interval.exactly(1e6))).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("drops", Drops)
def test_a_loss_dearer_than_timers_allow_is_not_consistent(drops: Drops) -> None:
    dearest = max_cost_s(drops, NEAR)
    for factor, verdict in ((0.99, Verdict.CONSISTENT), (1.01, Verdict.INCONSISTENT)):
        lost = 0.5 / (factor * dearest)
        share = lost / (16 + lost)
        audit = audit_entry(entry(drops=drops, loss=Interval.exactly(share)))
        assert audit.verdict is verdict
        assert audit.max_cost_s == dearest
        assert f"{dearest:.2f} s" in audit.reason


def test_users_who_lose_time_without_a_loss_are_not_consistent() -> None:
    assert audit_entry(entry(loss=Interval.exactly(0))).verdict is Verdict.INCONSISTENT


def test_extra_time_beyond_losses_and_queue_is_inconsistent() -> None:
    row = entry(loss=Interval(0.01, 0.012), queue_s=Interval(0, 0.1), drops=Drops.BY_BYTES)
    audit = audit_entry(row)
    assert audit.bound_s is not None
    assert audit.bound_s == pytest.approx(0.012 / 0.988 * 16 * max_cost_s(Drops.BY_BYTES, NEAR) + 0.1)
    assert audit.ledger.extra_s.low > audit.bound_s
    assert audit.verdict is Verdict.INCONSISTENT
    assert audit_entry(replace(row, drops=None)).bound_s is None


def test_what_is_left_open_is_in_favour_of_the_table() -> None:
    contradicted = entry(loss=Interval.exactly(0.01))
    assert audit_entry(contradicted).verdict is Verdict.INCONSISTENT
    for more in (
        replace(contradicted, loss=Interval(0.01, 0.04)),
        replace(contradicted, queue_s=Interval(0, 0.4)),
        replace(contradicted, completed=Interval(contradicted.completed.low, 0.98e6)),
    ):
        assert audit_entry(more).verdict is Verdict.CONSISTENT
    assert audit_entry(contradicted, Hosts(first_s=60)).verdict is Verdict.CONSISTENT


def test_a_queues_share_is_its_length_in_both_directions() -> None:
    share = queue_share(240, 24_000)
    assert share.low == 0
    assert share.high == pytest.approx(2 * 0.01 * 2.3)
