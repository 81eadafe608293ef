"""Losses on the wire of a link, in whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import cells_of
from aqmlab.spec import presets
from aqmlab.topology.network import topology

FLOOD = [
    {"datagrams": {"name": "up", "rate": "5 Mbit/s", "packet": "200 B", "side": 0}},
    {"datagrams": {"name": "down", "rate": "5 Mbit/s", "packet": "200 B", "side": 1}},
]


def experiment(loss: object, **parts: Any) -> lab.Experiment:
    usual = {"link": {"rate": "20 Mbit/s", "loss": loss}, "users": {"per_side": 0}, "sources": FLOOD}
    return lab.Experiment(**{**usual, "protocol": {"warmup": "1 s", "duration": "40 s"}, **parts})


def measured(loss: object, **parts: Any) -> dict[str, Any]:
    simulation = _core.Simulation(cells_of(experiment(loss, **parts), [1])[0].spec, 1)
    simulation.advance(simulation.end)
    summary: dict[str, Any] = json.loads(simulation.summary())
    return summary


def test_losses_on_the_wire_are_counted_apart_from_the_queues() -> None:
    summary = measured({"up": 0.02, "down": 0})
    forth, back = summary["directions"]
    up, down = summary["sources"]
    assert summary["wire_loss_percent"] == pytest.approx(2, rel=0.1)
    assert (forth["dropped"], back["dropped"], back["lost"], down["packets_lost"]) == (0, 0, 0, 0)
    # A packet on its way at an end of the window counts at one of the two.
    assert up["packets_lost"] == pytest.approx(forth["lost"], abs=2)
    assert up["loss_percent"] == pytest.approx(2, rel=0.1)


def test_losses_in_bursts_have_the_share_of_theory() -> None:
    summary = measured({"gilbert_elliott": {"p": 0.01, "r": 0.2}})
    assert summary["wire_loss_percent"] == pytest.approx(100 * 0.01 / 0.21, rel=0.1)


def test_every_discipline_faces_the_same_losses() -> None:
    # Without congestion no discipline drops a packet.
    queues: list[dict[str, Any]] = [{"droptail": {}}, {"fq_codel": {}}]
    lost = [measured(0.01, queue=queue)["directions"][0]["lost"] for queue in queues]
    assert lost[0] == lost[1] > 0


def test_users_recover_from_losses_on_a_chain() -> None:
    users = {"users": {"per_side": 100}, "sources": []}
    chain = [{"rate": "50 Mbit/s"}, {"rate": "50 Mbit/s", "loss": 0.02}]
    summary = measured(0, link=chain, **users)
    lost = [direction["lost"] for direction in summary["directions"]]
    assert lost[:2] == [0, 0]
    assert all(lost[2:])
    assert summary["loss_percent"] == 0
    assert summary["retransmit_percent"] > 0.3
    assert summary["completed_requests"] > 500


def test_without_losses_the_share_is_undefined_and_the_key_stays() -> None:
    assert measured(0)["wire_loss_percent"] is None
    without = experiment(0, link={"rate": "20 Mbit/s"})
    assert cells_of(experiment(0), [1])[0].key == cells_of(without, [1])[0].key


def test_baseline_and_drawing_have_the_losses() -> None:
    lossy = experiment({"up": 0.001, "down": {"gilbert_elliott": {"p": 0.01, "r": 0.2}}})
    assert presets.uncongested(lossy).links[0].loss == lossy.links[0].loss
    (link,) = topology(lossy, cells_of(lossy, [1])[0].spec).links
    assert link.loss == "0.1 % / 4.76 % in bursts"


def test_runs_with_losses_are_not_explained(tmp_path: Path) -> None:
    result = lab.run(experiment(0.01, users={"per_side": 200}, sources=[]), out=tmp_path)
    with pytest.raises(lab.SpecError, match=r"^link\.loss: such a run cannot be explained"):
        lab.explain(result.directory)
