"""A link whose two directions have different rates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab._core import bits_per_second
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import cells_of
from aqmlab.spec import presets
from aqmlab.spec.capacity.rates import both
from aqmlab.topology.network import topology


def rates(up: str, down: str) -> dict[str, str]:
    return {"up": up, "down": down}


HOME = {"rate": rates("2 Mbit/s", "10 Mbit/s"), "delay": "5 ms", "device_fifo": 0}
FLOOD = [
    {"datagrams": {"name": "up", "rate": "5 Mbit/s", "packet": "1000 B", "side": 0}},
    {"datagrams": {"name": "down", "rate": "15 Mbit/s", "packet": "1000 B", "side": 1}},
]
BRIEF = {"warmup": "5 s", "duration": "20 s"}


def experiment(**parts: Any) -> lab.Experiment:
    usual = {"link": HOME, "queue": {"ared": {}}, "users": {"per_side": 0}, "sources": FLOOD, "protocol": BRIEF}
    return lab.Experiment(**usual | parts)


def resolved(**parts: Any) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(_core.Resolved(experiment(**parts).to_json()).json)
    return spec


def measured(**parts: Any) -> dict[str, Any]:
    simulation = _core.Simulation(cells_of(experiment(**parts), [1])[0].spec, 1)
    simulation.advance(simulation.end)
    summary: dict[str, Any] = json.loads(simulation.summary())
    return summary


@pytest.mark.parametrize("queue", [{"ared": {}}, {"codel": {}}])
def test_each_direction_carries_its_rate(queue: dict[str, Any]) -> None:
    summary = measured(queue=queue)
    forth, back = summary["directions"]
    # Of 1,038 bytes in a frame.
    assert forth["throughput_mbps"] == pytest.approx(2 * 1000 / 1038, rel=1e-3)
    assert back["throughput_mbps"] == pytest.approx(10 * 1000 / 1038, rel=1e-3)
    for counters in (forth, back, summary):
        assert counters["utilisation"] == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("queue", [{"ared": {}}, {"fq_codel": {}}])
def test_equal_rates_of_both_directions_are_one_rate(queue: dict[str, Any]) -> None:
    links = [{**HOME, "rate": rate} for rate in ("2 Mbit/s", rates("2 Mbit/s", "2000 kbit/s"))]
    one_rate, equal_rates = (measured(queue=queue, users={"per_side": 200}, link=link) for link in links)
    assert one_rate == equal_rates


def test_automatic_parameters_are_those_of_each_directions_rate() -> None:
    two_rates = resolved()
    single_rate = [resolved(link={"rate": rate, "delay": "5 ms"})["queue"] for rate in ("2 Mbit/s", "10 Mbit/s")]
    assert [two_rates["queue"], two_rates["queue_back"]] == single_rate
    assert single_rate[0] != single_rate[1]
    assert json.loads(_core.Resolved(json.dumps(two_rates)).json) == two_rates
    # Nothing is automatic here.
    assert "queue_back" not in resolved(queue={"droptail": {"limit": 50}})


def test_a_custom_law_is_told_the_rate_of_its_direction(tmp_path: Path) -> None:
    rates = []

    class Law(lab.Law):
        def __init__(self, config: object, link: Any, rng: object) -> None:
            rates.append(link.rate_bps)

        def on_enqueue(self, packet: Any, queue: Any, now: Any) -> Literal["pass"]:
            return "pass"

    lab.run(experiment(queue={Law: {}}), out=tmp_path)
    assert rates == [2_000_000, 10_000_000]


def test_links_of_a_chain_have_separate_rates_both_ways() -> None:
    one_rate = {**HOME, "rate": "4 Mbit/s"}
    chain = [HOME, one_rate, {**HOME, "rate": rates("4 Mbit/s", "8 Mbit/s")}]
    links = resolved(link=chain)["link"]
    assert [link["rate"] for link in links] == [HOME["rate"], "4 Mbit/s", rates("4 Mbit/s", "8 Mbit/s")]
    assert ["queue_back" in link for link in links] == [True, False, True]
    summary = measured(link=chain)
    throughput = pl.DataFrame(summary["directions"]).filter(direction=1)["throughput_mbps"]
    # From the third link to the first: the second one is the slowest.
    assert throughput.to_list() == pytest.approx([4 * 1000 / 1038] * 2 + [8 * 1000 / 1038], rel=1e-3)


def test_the_baseline_is_ten_times_as_fast_in_each_direction() -> None:
    fast = lab.Experiment(link={**HOME, "rate": rates("200 Mbit/s", "20 Mbit/s")}, users={"per_side": 1})
    link = presets.uncongested(fast).links[0]
    assert [bits_per_second(rate) for rate in both(link.rate)] == [2e9, 1e9]


def test_both_rates_are_drawn() -> None:
    home = experiment()
    (link,) = topology(home, cells_of(home, [1])[0].spec).links
    assert link.rates == "2/10 Mbit/s"


@pytest.mark.parametrize(
    ("link", "mistake"),
    [
        (
            {"rate": rates("1 Mbit/s", "5 bit/s")},
            "link.rate.down: must be between 1 kbit/s and 1000 Gbit/s, got 5 bit/s",
        ),
        ({"rate": {"up": "1 Mbit/s"}}, "link.rate: must have `down`, which is missing"),
        ({"rate": {"up": 1, "down": "1 Mbit/s"}}, 'link.rate: write a unit, such as "100 Mbit/s"'),
        ({"rate_back": "5 Mbit/s"}, "link.rate_back: write rate = {up = ..., down = ...}, got '5 Mbit/s'"),
    ],
)
def test_what_cannot_be_is_refused(link: dict[str, Any], mistake: str) -> None:
    with pytest.raises(lab.SpecError) as error:
        resolved(link=link)
    assert str(error.value).startswith(mistake)


def test_a_change_of_the_rate_can_be_of_one_direction() -> None:
    change = [{"at": "5 s", "rate": rates("2 Mbit/s", "5 Mbit/s")}]
    forth, back = measured(link={**HOME, "rate_changes": change})["directions"]
    assert forth["throughput_mbps"] == pytest.approx(2 * 1000 / 1038, rel=1e-3)
    assert back["throughput_mbps"] == pytest.approx(5 * 1000 / 1038, rel=2e-3)
    assert back["utilisation"] == pytest.approx(1, rel=2e-3)


def test_a_load_is_of_one_rate(tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError, match=r"users\.load: is percent of one rate; where up and down differ give"):
        cells_of(lab.Experiment(link=HOME, users={"load": 90}), [1], load_calibrations(tmp_path))


def test_the_time_of_bits_is_that_of_each_direction(tmp_path: Path) -> None:
    alone = {"per_side": 20, "sides": 1}
    result = lab.run(lab.Experiment(link=HOME, users=alone, protocol=BRIEF), out=tmp_path)
    requests = lab.explain(result.directory).requests
    # Without their headers: 4 us a byte up, and 0.8 us down.
    bits_ns = 4000 * pl.col("request_bytes") + 800 * pl.col("response_bytes")
    beyond = requests.filter(pl.col("response_bytes") <= 1460).select(pl.col("transmission") - bits_ns).to_series()
    assert len(beyond) > 10
    # Of a packet each way, with 52 bytes of headers and 38 of the frame; with the handshake also of SYN and SYN/ACK.
    assert set(beyond.unique()) == {90 * 4800, (90 + 98) * 4800}
