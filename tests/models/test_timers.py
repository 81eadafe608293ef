from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import aqmlab as lab
from aqmlab.models.timers import ROUND_TRIPS, WEB, Amount, Drops, Hosts, Kind, RoundTrips, max_cost_s

NEAR = RoundTrips(mean_s=0.08, longest_s=0.15)
FAR = RoundTrips(mean_s=0.42)


def alone(kind: Kind) -> dict[Kind, Amount]:
    return {each: Amount(packets=1.0, bytes=40.0) if each is kind else Amount(0.0, 0.0) for each in Kind}


def test_the_kinds_of_packets_are_those_on_an_idle_network(tmp_path: Path) -> None:
    (tmp_path / "rtt.toml").write_text('source = "one for all"\n[distribution.uniform_ms]\nmin = 80\nmax = 80\n')
    experiment = lab.Experiment(
        testbed="unc-2003",
        link={"rate": "1 Gbit/s"},
        queue={"droptail": {"limit": 2400}},
        users={"per_side": 2000, "rtt": str(tmp_path / "rtt.toml")},
        # Users begin with pages in equilibrium; their persistent connections take minutes.
        protocol={"warmup": "10 min", "duration": "5 min"},
        record={"exchanges": True},
    )
    result = lab.run(experiment, seed=1, out=tmp_path / "out")
    sent = result.link.select("packets", "bytes").sum().row(0)
    response = result.exchanges["response_bytes"].to_numpy().astype(np.int64)
    begins = result.exchanges["first_on_connection"].to_numpy()
    n = len(response)
    flight = np.minimum(response[begins], 2 * 1460)
    first = int(np.ceil(flight / 1460).sum())
    packets = {
        Kind.HANDSHAKE: 2 * int(begins.sum()),
        Kind.FIRST_FLIGHT: first,
        Kind.LATER: n + int(np.ceil(response / 1460).sum()) - first,
    }
    packets[Kind.FREE] = sent[0] - sum(packets.values())
    # A large response more or less moves the mean.
    assert {kind: count / n for kind, count in packets.items()} == {
        kind: pytest.approx(amount.packets, rel=0.06) for kind, amount in WEB.items()
    }
    assert sent[1] / n == pytest.approx(sum(amount.bytes for amount in WEB.values()), rel=0.06)
    first_bytes = (flight.sum() + 40 * first) / n
    assert first_bytes == pytest.approx(WEB[Kind.FIRST_FLIGHT].bytes, rel=0.03)
    # The link and the hosts add a millisecond or two.
    assert result.summary["response_time_ms"]["mean"] / 80 == pytest.approx(ROUND_TRIPS, rel=0.04)


def test_a_window_of_two_loses_half_a_round_trip_after_a_timeout() -> None:
    # 1, then 2: one segment late. Of 4: 1, 2, 3, that is 3 + 2 + 1 segments.
    assert Hosts(window=2).recovery_round_trips == pytest.approx(1 / 2)
    assert Hosts(window=4).recovery_round_trips == pytest.approx(6 / 4)


def test_lost_retransmissions_cost_a_doubled_timer() -> None:
    rng = np.random.default_rng(1)
    again = 0.2
    losses = rng.geometric(1 - again, 200_000)
    waits = 3 * (2.0**losses - 1)
    hosts = Hosts(first_s=3, lost_again=again, window=1)
    found = max_cost_s(Drops.BY_PACKETS, NEAR, hosts=hosts, request=alone(Kind.HANDSHAKE))
    assert found == pytest.approx(waits.sum() / losses.sum(), rel=0.02)


def test_losses_by_size_cost_more_than_lost_acknowledgements() -> None:
    for trips in (NEAR, FAR):
        packets, sizes, any_law = (max_cost_s(drops, trips) for drops in Drops)
        assert packets < sizes < any_law


@pytest.mark.parametrize("kind", Kind)
def test_traffic_of_one_kind_costs_what_that_kind_costs(kind: Kind) -> None:
    for drops in (Drops.BY_PACKETS, Drops.BY_BYTES):
        assert max_cost_s(drops, NEAR, request=alone(kind)) == pytest.approx(Hosts().costs_s(NEAR)[kind])


def test_timers_and_distance_make_losses_dearer() -> None:
    hosts = Hosts()
    for drops in Drops:
        least = max_cost_s(drops, NEAR, hosts=hosts)
        assert max_cost_s(drops, FAR, hosts=hosts) > least
        for longer in (replace(hosts, first_s=9), replace(hosts, lost_again=0.2), replace(hosts, window=44)):
            assert max_cost_s(drops, NEAR, hosts=longer) > least


def test_lost_acknowledgements_cost_nothing() -> None:
    assert max_cost_s(Drops.BY_PACKETS, FAR, request=alone(Kind.FREE)) == 0


def test_a_timer_is_its_minimum_or_at_most_three_round_trips() -> None:
    hosts = Hosts(window=1, lost_again=0)
    assert hosts.costs_s(NEAR)[Kind.LATER] == 1
    assert hosts.costs_s(RoundTrips(mean_s=2, longest_s=2))[Kind.LATER] == pytest.approx(6)
    assert hosts.costs_s(RoundTrips(mean_s=0.5))[Kind.LATER] == pytest.approx(1 + 3 * 0.5)
