from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab._core import bits_per_second
from aqmlab.calibration.measure import calibration_cells
from aqmlab.results.cells import BASELINE
from aqmlab.spec import directions, presets

USERS = {"per_side": 400}
WIDE_AREA = {"rate": "100 Mbit/s", "delay": "100 ms", "overhead": "20 B", "mtu": "9000 B", "device_fifo": 0}
CHAIN = [
    {"rate": "50 kbit/s", "delay": "20 ms", "overhead": "0 B", "mtu": "9000 B", "device_fifo": 3},
    {"rate": "400 Mbit/s", "mtu": "9000 B", "queue": {"pi": {}}, "rate_changes": [{"at": "5 s", "rate": "2 Mbit/s"}]},
    {"delay": "7 ms", "mtu": "9000 B"},
]
BULK = {"bulk": {"name": "upload", "flows": 2}}


def resolved(experiment: lab.Experiment) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(_core.Resolved(experiment.to_json()).json)
    return spec


def test_the_papers_link_becomes_their_uncongested_one() -> None:
    queue = {"droptail": {"limit": 2400}}
    papers = lab.Experiment(testbed="unc-2003", link=lab.UNCONGESTED, queue=queue, users=USERS)
    derived = presets.uncongested(
        lab.Experiment(testbed="unc-2003", link=lab.BOTTLENECK, queue={"pi": {}}, users=USERS)
    )
    assert resolved(derived) == resolved(papers)
    assert {cell.resolved["link"]["rate"] for cell in calibration_cells(lab.Experiment(), [1])} == {"1 Gbit/s"}


def test_the_baseline_has_the_congested_networks_interfaces() -> None:
    sources = [{"datagrams": {"rate": "2 Gbit/s"}}, {"bulk": {"flows": 1, "bytes": "1 MB"}}]
    slow = lab.Experiment(link={"rate": "200 Mbit/s"}, users=USERS, sources=sources)
    congested, calm = resolved(slow), resolved(presets.uncongested(slow))
    assert calm["hosts"] == congested["hosts"]
    assert calm["hosts"]["rate"] == "2 Gbit/s"
    interfaces = [spec["sources"][0]["datagrams"]["interface"] for spec in (congested, calm)]
    assert interfaces[0] == interfaces[1]


@pytest.mark.parametrize(
    ("rate", "raised"),
    [("56 kbit/s", "1 Gbit/s"), ("250 Mbit/s", "2.5 Gbit/s"), ("10 Gbit/s", "100 Gbit/s"), ("1000 Gbit/s",) * 2],
)
def test_a_rate_is_raised_tenfold_and_to_a_gigabit_at_least(rate: str, raised: str) -> None:
    link = resolved(presets.uncongested(lab.Experiment(link={"rate": rate}, users=USERS)))["link"]
    assert bits_per_second(link["rate"]) == bits_per_second(raised)


@pytest.mark.parametrize(
    "parts",
    [
        {"link": WIDE_AREA},
        {"link": {"rate": "10 Gbit/s", "rate_changes": [{"at": "3 s", "rate": "40 Gbit/s"}]}},
        {"link": CHAIN},
        {"tcp": {"profile": "linux-6", "congestion": "dctcp", "ecn": "dctcp"}, "hosts": {"rate": "30 Mbit/s"}},
    ],
)
def test_only_rates_and_queues_differ_on_the_baseline(parts: dict[str, Any]) -> None:
    experiment = lab.Experiment(**parts, users=USERS)
    raised = 0

    def assert_equal(before: Any, after: Any) -> None:
        nonlocal raised
        if isinstance(before, dict):
            assert before.keys() == after.keys()
            for name in before.keys() - {"queue"}:
                if name == "rate":
                    assert bits_per_second(after[name]) == max(10 * bits_per_second(before[name]), 1e9)
                    raised += 1
                else:
                    assert_equal(before[name], after[name])
        elif isinstance(before, list):
            assert len(before) == len(after)
            for pair in zip(before, after, strict=True):
                assert_equal(*pair)
        else:
            assert before == after

    before, after = resolved(experiment), resolved(presets.uncongested(experiment))
    hosts = before.pop("hosts"), after.pop("hosts")
    assert hosts[0] == hosts[1]
    assert_equal(before, after)
    assert raised >= 1
    for link in directions.link_tables(after):
        (limit,) = link["queue"]["droptail"].values()
        assert int(limit.split()[0]) >= 2400


def test_a_rate_that_is_none_is_refused_in_one_line() -> None:
    with pytest.raises(lab.SpecError, match=r"link.rate: .*fast"):
        presets.uncongested(lab.Experiment(link={"rate": "fast"}))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (BULK, ["upload"]),
        ({"bulk": {"flows": 1, "bytes": "1 MB"}}, []),
        ({"on_off": {"flows": 1, "size": {"fixed": "1 MB"}, "off": {"fixed": "0 s"}}}, ["on_off"]),
        ({"on_off": {"flows": 1, "size": {"fixed": "1 MB"}, "off": {"exponential": {"mean": "2 s"}}}}, []),
        ({"datagrams": {"rate": "5 Mbit/s", "packet": "1000 B"}}, []),
    ],
)
def test_greedy_are_sources_that_take_whatever_there_is(source: dict[str, Any], names: list[str]) -> None:
    experiment = lab.Experiment(users=USERS, sources=[source])
    assert presets.greedy(experiment.sources) == names
    assert presets.greedy(resolved(experiment)["sources"]) == names


def test_distant_users_wait_equally_on_idle_and_baseline_links(tmp_path: Path) -> None:
    experiment = lab.Experiment(
        link={"rate": "100 Mbit/s", "delay": "100 ms"},
        users={"per_side": 200},
        protocol={"warmup": "5 s", "duration": "60 s"},
    )
    baseline, droptail = lab.compare("droptail", experiment=experiment, seeds=[1], out=tmp_path).schemes
    assert baseline["label"] == BASELINE
    assert droptail["utilisation"] < 0.05
    for quantile in ("p10", "p50", "p90"):
        times = [scheme["response_time_ms"][quantile] for scheme in (baseline, droptail)]
        assert times[0] == pytest.approx(times[1], rel=0.02)


def test_the_baseline_is_never_the_busier_network(tmp_path: Path) -> None:
    for link in ({"rate": "10 Gbit/s"}, {"rate": "2 Mbit/s", "device_fifo": 10}):
        experiment = lab.Experiment(link=link, users=USERS, protocol={"warmup": "2 s", "duration": "20 s"})
        baseline, droptail = lab.compare("droptail", experiment=experiment, seeds=[1], out=tmp_path).schemes
        assert baseline["utilisation"] < droptail["utilisation"]
        assert baseline["queue_packets_p99"] <= droptail["queue_packets_p99"]
