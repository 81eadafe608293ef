"""Identity columns of cells: cells that differ in the simulation differ in these columns."""

from __future__ import annotations

import json
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.cells import columns
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.spec import users
from aqmlab.store.store import Store

BULK = [{"bulk": {"name": "downloads", "flows": 3, "rtt": {"fixed": "20 ms"}}}]


def cell(**tables: Any) -> Cell:
    given = {"users": {"per_side": 4}, "protocol": {"warmup": "1 s", "duration": "2 s"}, **tables}
    return cells_of(lab.Experiment(**given), [1])[0]


OTHERS: dict[str, dict[str, Any]] = {
    "rate": {"link": {"rate": "10 Mbit/s"}},
    "delay": {"link": {"delay": "9 ms"}},
    "device FIFO": {"link": {"device_fifo": 3}},
    "TCP profile": {"tcp": {"profile": "unc-testbed"}},
    "receive window": {"tcp": {"receive_window": 20_000}},
    "sources": {"sources": BULK},
    "window": {"protocol": {"warmup": "1 s", "duration": "3 s"}},
    "round-trip times": {"users": {"per_side": 4, "rtt": "general"}},
}


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_another_spec_is_another_experiment_in_the_columns(changes: dict[str, Any]) -> None:
    assert cell(**changes).experiment != cell().experiment
    assert cell(**changes).row["spec"] != cell().row["spec"]


def test_scheme_ecn_and_seed_leave_the_experiment_as_it_is() -> None:
    mix = {"mix": [{"share": 0.5, "congestion": "cubic"}]}
    one = cell(tcp=mix)
    assert one.experiment == cell(tcp={**mix, "ecn": True}, queue={"pi": {"q_ref": 3}}).experiment
    assert one.experiment == cells_of(lab.Experiment.model_validate(one.resolved), [7])[0].experiment
    assert one.experiment != cell().experiment


@pytest.mark.parametrize("tcp", [{"congestion": "prague", "ecn": "accurate"}, {"abe": True, "ecn": True}])
def test_hosts_that_need_ecn_have_an_experiment(tcp: dict[str, Any]) -> None:
    assert cell(tcp={"profile": "linux-6", **tcp}).experiment != cell(tcp={"profile": "linux-6"}).experiment


def test_hosts_with_ecn_of_their_own_are_another_experiment() -> None:
    inherited = {"mix": [{"share": 0.5, "congestion": "cubic"}]}
    tcp = {"mix": [{"share": 0.5, "congestion": "cubic", "ecn": True}]}
    assert cell(tcp=tcp).experiment == cell(tcp={**tcp, "ecn": True}).experiment
    assert cell(tcp=tcp).experiment != cell(tcp={**inherited, "ecn": True}).experiment


def test_a_queue_of_a_link_s_own_belongs_to_the_experiment() -> None:
    def digest(scheme: dict[str, Any], link: dict[str, Any]) -> str:
        links = [{"rate": "2 Mbit/s"}, {"rate": "3 Mbit/s", "queue": link}]
        return cell(link=links, queue=scheme).experiment

    codel: dict[str, Any] = {"codel": {}}
    droptail = {"droptail": {"limit": 50}}
    assert digest(codel, droptail) == digest(droptail, droptail) == digest({"ared": {}}, droptail)
    assert digest(codel, droptail) != digest(codel, codel)


def test_the_uncongested_network_is_of_its_experiment() -> None:
    experiment = lab.Experiment(users={"per_side": 4})
    (free,), (one,) = (cells_of(experiment, [1], uncongested=uncongested) for uncongested in (True, False))
    assert free.experiment == one.experiment


def test_the_columns_say_what_was_simulated() -> None:
    tcp = {"profile": "linux-6", "mix": [{"share": 0.25, "side": 1, "congestion": "bbr", "ecn": True}]}
    identity = cell(
        link={"rate": {"up": "25 Mbit/s", "down": "250 Mbit/s"}, "delay": "5 ms"}, tcp=tcp, sources=BULK
    ).identity
    assert (identity["rate_mbps"], identity["rate_back_mbps"], identity["delay_ms"]) == (25, 250, 5)
    assert identity["tcp"] == "linux-6"
    assert identity["congestion"] == "cubic, 25 % of side 1 bbr"
    assert identity["ecn"] == "off, 25 % of side 1 rfc3168"
    assert identity["traffic"] == "3 bulk downloads"
    assert (identity["warmup_s"], identity["duration_s"]) == (1, 2)
    assert list(cell().row) == columns.SCHEMA.names


def test_a_chain_is_its_links_and_its_slowest_rates() -> None:
    links = [
        {"rate": "2 Mbit/s", "delay": "1 ms", "device_fifo": 7},
        {"rate": {"up": "3 Mbit/s", "down": "1 Mbit/s"}, "delay": "2 ms", "device_fifo": 0},
    ]
    identity = cell(link=links).identity
    assert (
        identity["rate_mbps"],
        identity["rate_back_mbps"],
        identity["delay_ms"],
        identity["device_fifo_packets"],
    ) == (2, 1, 3, None)
    assert identity["chain"] == "2 Mbit/s 1 ms > 3/1 Mbit/s 2 ms"
    assert cell().identity["chain"] is None


def test_the_spec_is_short_and_long_lists_still_differ() -> None:
    def spec_text(second_s: float) -> str:
        rows = {"start_seconds": [0.0, second_s] * 500, "side": [0] * 1000, "request_bytes": [100] * 1000}
        trace = {"trace": {**rows, "response_bytes": [1000] * 1000, "rtt": {"fixed": "10 ms"}}}
        return str(cell(sources=[trace]).row["spec"])

    assert len(spec_text(1.0)) < len(cell().spec.json)
    assert spec_text(1.0) != spec_text(2.0)
    assert json.loads(cell().row["spec"])["users"]["workload"] == "unc-2001-v3"


def test_an_own_table_is_called_by_what_it_says_of_itself() -> None:
    near = {"source": "Our lab, 2026", "distribution": {"uniform_ms": {"min": 5, "max": 9}}}
    name = cell(users={"per_side": 4, "rtt": near}).rtt
    assert name.startswith("our-lab-2026-")
    assert name == users.names("unc-2001", near)[1]
    assert users.names("unc-2001", {**near, "distribution": {"uniform_ms": {"min": 5, "max": 8}}})[1] != name


def test_cells_of_unlike_links_are_told_apart_in_the_store(store: Store) -> None:
    for rate in ("2 Mbit/s", "1 Mbit/s"):
        experiment = lab.Experiment(
            link={"rate": rate}, users={"per_side": 4}, protocol={"warmup": "0 s", "duration": "1 s"}
        )
        lab.run(experiment, out=str(store.out))
    cells = store.cells()
    assert cells["rate_mbps"].to_list() == [2, 1]
    assert cells["experiment"].n_unique() == 2
    kept = [store.get_by_key(key) for key in cells["cell"]]
    assert [result.cell.experiment for result in kept if result] == cells["experiment"].to_list()
