"""Links whose capacity is another kind than a bit rate, in whole runs."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import cells_of
from aqmlab.results.timeseries import link_delays_ms
from aqmlab.spec import presets
from aqmlab.topology.network import topology
from aqmlab.traces.capacity import SendableBits, sendable_bits

FRAME = 1038
"""The bytes of a datagram's frame: 1,000 of IP and 38 of Ethernet."""

BUCKET = {"rate": "2 Mbit/s", "burst": "30 kB"}


def experiment(rate: object, **parts: Any) -> lab.Experiment:
    flood = [
        {"datagrams": {"name": "up", "rate": "5 Mbit/s", "packet": "1000 B", "side": 0}},
        {"datagrams": {"name": "down", "rate": "15 Mbit/s", "packet": "1000 B", "side": 1}},
    ]
    usual = {"link": {"rate": rate}, "queue": {"codel": {}}, "users": {"per_side": 0}, "sources": flood}
    return lab.Experiment(**{**usual, "protocol": {"warmup": "5 s", "duration": "20 s"}, **parts})


def measured(rate: object, **parts: Any) -> dict[str, Any]:
    simulation = _core.Simulation(cells_of(experiment(rate, **parts), [1])[0].spec, 1)
    simulation.advance(simulation.end)
    summary: dict[str, Any] = json.loads(simulation.summary())
    return summary


def test_each_direction_has_a_kind_of_its_own() -> None:
    forth, back = measured({"up": {"token_bucket": BUCKET}, "down": "10 Mbit/s"})["directions"]
    assert forth["throughput_mbps"] == pytest.approx(2 * 1000 / FRAME, rel=1e-3)
    assert back["throughput_mbps"] == pytest.approx(10 * 1000 / FRAME, rel=1e-3)
    for counters in (forth, back):
        assert counters["utilisation"] == pytest.approx(1, rel=1e-3)
        assert counters["loss_percent"] > 0


def test_a_full_line_of_cells_is_used_in_full() -> None:
    forth, _ = measured({"up": {"atm": {"rate": "2 Mbit/s"}}, "down": "10 Mbit/s"})["directions"]
    # 1,038 bytes are 22 cells of 53 bytes with 48 of them.
    assert forth["throughput_mbps"] == pytest.approx(2 * 1000 / (22 * 53), rel=1e-3)
    assert forth["utilisation"] == pytest.approx(1, rel=1e-3)


def test_a_packet_waits_for_its_request_and_its_grant() -> None:
    source = {"datagrams": {"rate": "161300 bit/s", "packet": "1000 B", "side": 0}}
    rate = {"up": {"cable": {"rate": "25 Mbit/s"}}, "down": "250 Mbit/s"}
    forth, _ = measured(rate, sources=[source], protocol={"warmup": "5 s", "duration": "60 s"})["directions"]
    # 1.62 ms to the grant and two MAP intervals of 2 ms, in docs/links/cable.md.
    assert forth["queue_delay_ms"]["mean"] == pytest.approx(5.62, rel=0.02)


def test_a_trace_sends_what_it_offers() -> None:
    # Of 10 s there are 5 s of 4 Mbit/s, an outage of 1 s and 4 s of 1 Mbit/s.
    trace = {"trace": {"seconds": [0, 5, 6, 8], "mbps": [4, 0, 1, 1]}}
    forth, back = measured({"up": trace, "down": "10 Mbit/s"})["directions"]
    assert forth["throughput_mbps"] == pytest.approx(2.4 * 1000 / FRAME, rel=1e-2)
    assert forth["utilisation"] == pytest.approx(1, rel=1e-2)
    assert back["throughput_mbps"] == pytest.approx(10 * 1000 / FRAME, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "rates"),
    [
        ({"policer": {**BUCKET, "line": "3 Mbit/s"}}, [(0, 3e6), (2, 3e6)]),
        ({"trace": {"seconds": [0, 1], "mbps": [3, 0]}}, [(0, 3e6), (1, 0), (2, 1.5e6)]),
        ({"mahimahi": {"opportunities": [950]}}, [(at / 10, 120_320 * (at in (9, 18))) for at in range(20)]),
    ],
    ids=lambda kind: next(iter(kind)) if isinstance(kind, dict) else "",
)
def test_rates_over_time_are_those_that_empty_the_queue(kind: dict[str, Any], rates: list[tuple[float, float]]) -> None:
    link = {"rate": {"up": kind, "down": "9 Mbit/s"}, "overhead": "4 B"}
    (numbers,) = cells_of(experiment("", link=link), [1])[0].links
    times, bps = zip(*numbers.drain_rates(0, 2.0, 1), strict=True)
    assert times[: len(rates)] == pytest.approx([at for at, _ in rates])
    assert bps[: len(rates)] == pytest.approx([rate for _, rate in rates])
    assert numbers.drain_rates(1, 2.0, 1) == [(0, 9e6)]


def test_a_delay_over_time_has_the_rates_of_the_trace(tmp_path: Path) -> None:
    source = {"datagrams": {"rate": "1 Mbit/s", "packet": "1000 B", "side": 0, "spread": "0 s"}}
    trace = {"trace": {"seconds": [0, 1, 1.5], "mbps": [3, 0, 2]}}
    link = {"rate": {"up": trace, "down": "9 Mbit/s"}, "device_fifo": 0}
    result = lab.run(experiment("", link=link, sources=[source], queue={"droptail": {"limit": 1000}}), out=tmp_path)
    over_time = link_delays_ms(result, 1, 0)["delay_ms"].to_numpy().mean()
    assert over_time == pytest.approx(result.summary["directions"][0]["queue_delay_ms"]["mean"], rel=0.05)


def test_a_policers_drops_are_counted_apart_from_the_queues() -> None:
    summary = measured({"up": {"policer": BUCKET}, "down": "100 Mbit/s"})
    forth, back = summary["directions"]
    # Of the frames that arrive, those pass that the bucket has bytes for.
    assert forth["throughput_mbps"] == pytest.approx(2 * 1000 / FRAME, rel=1e-3)
    share = 1 - 2 / (5 * FRAME / 1000)
    assert summary["policed_percent"] == pytest.approx(100 * share, rel=1e-3)
    assert forth["policed"] == pytest.approx(share / (1 - share) * forth["arrived"], rel=1e-3)
    assert (forth["dropped"], back["policed"], back["dropped"]) == (0, 0, 0)
    up, _ = summary["sources"]
    assert up["loss_percent"] == pytest.approx(100 * share, rel=1e-3)


@pytest.mark.parametrize(
    "kind",
    [
        {"pon": {"rate": "5 Mbit/s"}},
        {"cellular": {"rate": "5 Mbit/s", "users": 3}},
        {"leo": {"rate": "3 Mbit/s", "offset": "6 s", "every": "5 s"}},
        {"cable": {"rate": "3 Mbit/s"}},
    ],
    ids=lambda kind: next(iter(kind)),
)
def test_a_full_link_sends_what_the_seed_offers(kind: dict[str, Any]) -> None:
    parts = {"link": {"rate": {"up": kind, "down": "9 Mbit/s"}}, "queue": {"droptail": {"limit": 100}}}
    for seed in (1, 2):
        spec = cells_of(experiment("", **parts), [seed])[0].spec
        simulation = _core.Simulation(spec, seed)
        simulation.advance(simulation.end)
        forth = json.loads(simulation.summary())["directions"][0]
        assert forth["utilisation"] == pytest.approx(1, abs=0.005)
        starts, bps = zip(*spec.links[0].drain_rates(0, 25.0, seed), strict=True)
        spans = [min(end, 25.0) - max(start, 5.0) for start, end in zip(starts, (*starts[1:], 25.0), strict=True)]
        offered = sum(rate * max(span, 0) for rate, span in zip(bps, spans, strict=True))
        assert forth["throughput_mbps"] * FRAME / 1000 == pytest.approx(offered / 20e6, rel=0.01)


def test_aggregates_are_long_where_queues_are() -> None:
    wifi = {"wifi": {"rate": "100 Mbit/s", "stations": 3, "others": "1 ms"}}
    throughput = [
        measured({"up": wifi, "down": "9 Mbit/s"}, queue={"droptail": {"limit": limit}}, sources=[flood])["directions"][
            0
        ]
        for limit in (4, 100)
        for flood in [{"datagrams": {"rate": "90 Mbit/s", "packet": "1000 B", "side": 0}}]
    ]
    # Of 4 packets and of 48, in 190 us, their bits and two turns of 1 ms: 4 ms of bits bound an aggregate.
    for direction, frames in zip(throughput, (4, 48), strict=True):
        bits = 8 * FRAME * frames
        assert direction["throughput_mbps"] * FRAME / 1000 == pytest.approx(bits / (2190 + bits / 100), rel=0.03)


def test_the_baseline_has_the_paths_of_satellites_and_traces() -> None:
    columns = {"seconds": [0, 1], "mbps": [10, 30], "loss": [0, 0.1]}
    fast = presets.uncongested(
        experiment({"up": {"leo": {"rate": "10 Mbit/s", "path": "3 ms"}}, "down": {"trace": columns}})
    )
    assert fast.links[0].rate == {
        "up": {"leo": {"rate": "1000000000 bit/s", "path": "3 ms"}},
        "down": {"trace": {**columns, "mbps": [500.0, 1500.0]}},
    }
    assert cells_of(fast, [1])[0].links[0].rate_back_bps == 1e9


def test_without_a_policer_no_share_is_policed() -> None:
    assert measured("2 Mbit/s")["policed_percent"] is None


@pytest.mark.parametrize("kind", ["token_bucket", "policer"])
def test_a_load_is_percent_of_the_mean_rate(kind: str, tmp_path: Path) -> None:
    calibrations = load_calibrations(tmp_path)
    users = [
        cells_of(lab.Experiment(link={"rate": rate}, users={"load": 90}), [1], calibrations)[0].users_per_side
        for rate in ("2 Mbit/s", {kind: BUCKET})
    ]
    assert users[0] == users[1] > 0


def test_the_baseline_is_ten_times_as_fast_as_the_mean_rate() -> None:
    fast = experiment({"up": {"policer": {"rate": "300 Mbit/s", "burst": "1 MB"}}, "down": {"token_bucket": BUCKET}})
    assert presets.uncongested(fast).links[0].rate == {"up": "3000000000 bit/s", "down": "1000000000 bit/s"}


def test_the_kind_is_drawn_with_its_rate() -> None:
    shaped = experiment({"up": {"policer": BUCKET}, "down": "5 Mbit/s"})
    (link,) = topology(shaped, cells_of(shaped, [1])[0].spec).links
    assert (link.rates, link.varies) == ("2 Mbit/s policer / 5 Mbit/s", True)


def test_runs_over_a_kind_of_capacity_are_not_explained(tmp_path: Path) -> None:
    users = {"users": {"per_side": 200}, "sources": []}
    result = lab.run(experiment({"token_bucket": BUCKET}, **users), out=tmp_path)
    with pytest.raises(lab.SpecError, match=r"^link\.rate: such a run cannot be explained"):
        lab.explain(result.directory)


def test_bits_between_two_times_are_those_of_the_whole_run() -> None:
    (cell,) = cells_of(experiment({"leo": {"rate": "5 Mbit/s", "offset": "6 s", "every": "5 s"}}), [3])
    (link,) = cell.links
    times, bits = sendable_bits(link, 1, cell.seed, 60)
    growing = SendableBits(link, 1, cell.seed)
    for start, end in itertools.pairwise([0.0, 1.3, 4.0, 21.5, 22.0, 60.0]):
        whole = np.interp(end, times, bits) - np.interp(start, times, bits)
        assert growing.between(start, end) == pytest.approx(whole, rel=1e-9)
