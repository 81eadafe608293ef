"""Impairments of the wire of a link, in whole runs. The engine checks at the end of each that no packet is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import cells_of
from aqmlab.running.checks import check, failures
from aqmlab.topology.network import topology

FLOOD = [
    {"datagrams": {"name": "up", "rate": "5 Mbit/s", "packet": "200 B", "side": 0}},
    {"datagrams": {"name": "down", "rate": "5 Mbit/s", "packet": "200 B", "side": 1}},
]

BULK = [{"bulk": {"flows": 4, "rtt": {"fixed": "40 ms"}}}]

EVERYTHING: dict[str, Any] = {
    "loss": 0.01,
    "bit_error_rate": 1e-6,
    "duplicate": 0.02,
    "jitter": "5 ms",
    "reorder": {"probability": 0.02, "delay": "3 ms"},
    "outages": [{"at": "3 s", "lasts": "200 ms", "every": "5 s"}, {"at": "6 s", "lasts": "1 s", "packets": "lost"}],
    "delay_changes": [{"at": "8 s", "delay": "20 ms"}, {"at": "14 s", "delay": "2 ms"}],
}


def experiment(link: dict[str, Any] | list[dict[str, Any]], **parts: Any) -> lab.Experiment:
    link = {"rate": "20 Mbit/s", **link} if isinstance(link, dict) else link
    usual = {"link": link, "users": {"per_side": 0}, "sources": FLOOD}
    return lab.Experiment(**{**usual, "protocol": {"warmup": "1 s", "duration": "20 s"}, **parts})


def measured(link: dict[str, Any] | list[dict[str, Any]], **parts: Any) -> dict[str, Any]:
    simulation = _core.Simulation(cells_of(experiment(link, **parts), [1])[0].spec, 1)
    simulation.advance(simulation.end)
    summary: dict[str, Any] = json.loads(simulation.summary())
    return summary


def test_impairments_are_counted_apart_from_the_queues_drops() -> None:
    link = {
        "duplicate": {"up": 0.02, "down": 0},
        "reorder": {"probability": 0.01, "delay": "1 ms"},
        "bit_error_rate": 1e-6,
    }
    summary = measured(link)
    forth, back = summary["directions"]
    sent = forth["arrived"]
    assert summary["duplicated_percent"] == pytest.approx(100 * forth["duplicated"] / sent, rel=1e-2)
    both = (way["reordered"] / (forth["arrived"] + back["arrived"]) for way in (forth, back))
    assert summary["reordered_percent"] == pytest.approx(100 * sum(both), rel=1e-2)
    assert (summary["ecn_changed_percent"], summary["mark_percent"]) == (None, 0)
    assert (forth["dropped"], back["dropped"], back["duplicated"]) == (0, 0, 0)
    assert forth["duplicated"] == pytest.approx(0.02 * sent, rel=0.1)
    assert forth["reordered"] == pytest.approx(0.01 * sent, rel=0.15)
    # A frame has 238 bytes.
    assert forth["lost"] == pytest.approx(1e-6 * 238 * 8 * sent, rel=0.2)


def test_every_discipline_faces_the_same_impairments() -> None:
    # Without congestion no discipline drops a packet.
    link = {**EVERYTHING, "outages": EVERYTHING["outages"][1:]}
    queues: list[dict[str, Any]] = [{"droptail": {}}, {"fq_codel": {}}]
    directions = [measured(link, queue=queue)["directions"] for queue in queues]
    counts = [[(way["lost"], way["duplicated"], way["reordered"]) for way in ways] for ways in directions]
    assert counts[0] == counts[1]
    assert all(counts[0][0])


@pytest.mark.parametrize("profile", ["freebsd-4.5", "linux-6"])
def test_users_recover_from_all_impairments_on_a_chain(profile: str) -> None:
    users = {"users": {"per_side": 100}, "sources": [], "tcp": {"profile": profile}}
    chain = [{"rate": "50 Mbit/s", **EVERYTHING}, {"rate": "50 Mbit/s", **EVERYTHING}]
    summary = measured(chain, **users)
    assert all(way["lost"] and way["duplicated"] and way["reordered"] for way in summary["directions"])
    assert summary["completed_requests"] > 200


def test_packets_wait_for_the_end_of_an_outage() -> None:
    outage = {"at": "5 s", "lasts": "2 s"}
    waiting = measured({"outages": [outage]}, queue={"droptail": {"limit": "10 MB"}})
    lost = measured({"outages": [{**outage, "packets": "lost"}]})
    # The first packets of the outage wait for its 2 s; those of 2 s of 20 s are lost.
    assert waiting["wire_loss_percent"] is None
    assert waiting["directions"][0]["queue_delay_ms"]["p999"] == pytest.approx(2000, rel=0.02)
    assert lost["wire_loss_percent"] == pytest.approx(10, rel=0.01)
    assert lost["loss_percent"] == 0


def test_the_laws_of_operation_hold_with_impairments(tmp_path: Path) -> None:
    impaired = {**EVERYTHING, "outages": EVERYTHING["outages"][1:]}
    parts = {"sources": BULK, "users": {"per_side": 0}, "queue": {"codel": {}}}
    for link in (impaired, {"outages": EVERYTHING["outages"][:1]}):
        result = lab.run(experiment(link, **parts), out=tmp_path)
        assert not list(failures(check([result])))


def test_utilisation_counts_the_time_that_the_link_is_up() -> None:
    queue = {"droptail": {"limit": "1 MB"}}
    summary = measured({"outages": [{"at": "3 s", "lasts": "1 s", "every": "4 s"}]}, sources=BULK, queue=queue)
    assert summary["directions"][1]["utilisation"] == pytest.approx(1, abs=0.02)


def test_a_step_of_delay_adds_to_one_way_delays() -> None:
    plain, later = (
        measured(link)["sources"][0]["datagrams"]["delay_ms_max"]
        for link in ({}, {"delay_changes": [{"at": "9 s", "delay": "30.5 ms"}]})
    )
    assert later - plain == pytest.approx(30, abs=0.1)


def test_a_repeated_step_of_delay_has_its_share_of_the_time() -> None:
    # From 2 s in each 5 s: 60 % of the packets have 10 ms more, on an idle link.
    changes = [{"at": "2 s", "delay": "10.5 ms", "every": "5 s"}, {"at": "5 s", "delay": "500 us", "every": "5 s"}]
    delays = measured({"delay_changes": changes})["sources"][0]["datagrams"]
    assert delays["delay_ms_p50"] - delays["delay_ms_mean"] == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize(("path", "has_marks"), [("pass", True), ("bleach", False), ("clear_ce", True)])
def test_bleached_packets_are_not_marked_behind_the_link(path: str, has_marks: bool) -> None:
    # Data flow in direction 1, from the link that changes the ECN field to the bottleneck.
    chain = [{"rate": "10 Mbit/s"}, {"rate": "50 Mbit/s", "ecn": path}]
    parts = {"sources": BULK, "queue": {"codel": {}}, "tcp": {"profile": "linux-6", "ecn": True}}
    ways = measured(chain, **parts)["directions"]
    assert (ways[1]["marked"] > 0) == has_marks
    assert (ways[3]["ecn_changed"] > 0) == (path == "bleach")


def test_hosts_without_ecn_on_syns_connect_where_ecn_is_refused() -> None:
    parts = {"sources": BULK, "queue": {"codel": {}}, "tcp": {"profile": "linux-6", "ecn": True}}
    summary = measured({"ecn": "refuse_syn"}, **parts)
    assert sum(way["marked"] for way in summary["directions"]) == 0
    assert summary["sources"][0]["goodput_mbps"] > 10


def test_neutral_impairments_leave_the_key_of_a_cell() -> None:
    late = {"probability": 0, "delay": "1 ms"}
    neutral = {"jitter": "0 ms", "duplicate": 0, "bit_error_rate": 0.0, "reorder": late, "ecn": "pass", "outages": []}
    assert cells_of(experiment(neutral), [1])[0].key == cells_of(experiment({}), [1])[0].key


def test_the_drawing_names_the_impairments() -> None:
    (link,) = topology(experiment(EVERYTHING), cells_of(experiment(EVERYTHING), [1])[0].spec).links
    assert link.impairments == (
        "bit error rate 1e-06, 2 % duplicated, jitter 5 ms, 2 % late by 3 ms, down for 200 ms from 3 s every 5 s,"
        " down for 1 s from 6 s (lost), delay 20 ms from 8 s, delay 2 ms from 14 s"
    )


@pytest.mark.parametrize("key", ["jitter", "delay_changes", "outages", "bit_error_rate"])
def test_runs_with_impairments_are_not_explained(tmp_path: Path, key: str) -> None:
    users = {"users": {"per_side": 100}, "sources": [], "protocol": {"warmup": "1 s", "duration": "2 s"}}
    result = lab.run(experiment({key: EVERYTHING[key]}, **users), out=tmp_path)
    with pytest.raises(lab.SpecError, match=rf"^link\.{key}: such a run cannot be explained"):
        lab.explain(result.directory)
