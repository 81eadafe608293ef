"""``noecn``: a queue that drops where it would mark, apart from the ECN of the hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.cells.cell import cells_of
from aqmlab.spec.schemes import label_of, parse
from aqmlab.tc.commands import commands
from conftest import Command


class Every(lab.Law):
    """Signals every fourth packet."""

    def __init__(self, config: object, link: lab.LinkContext, rng: lab.Stream) -> None:
        self._arrived = 0

    def on_enqueue(self, packet: lab.Packet, queue: lab.QueueState, now: float) -> lab.Verdict:
        self._arrived += 1
        return lab.Verdict.MARK if self._arrived % 4 == 0 else lab.Verdict.PASS


def experiment(**parts: object) -> lab.Experiment:
    """Return two downloads that congest 5 Mbit/s, of hosts with ECN."""
    return lab.Experiment(
        **{
            "link": {"rate": "5 Mbit/s", "device_fifo": 0},
            "users": {"per_side": 0},
            "tcp": {"profile": "linux-6", "ecn": True},
            "sources": [{"bulk": {"flows": 2, "rtt": {"fixed": "40 ms"}}}],
            "protocol": {"warmup": "1 s", "duration": "5 s"},
            **parts,
        }
    )


@pytest.mark.parametrize("text", ["codel:noecn", "codel:target=8 ms,noecn", "pi:noecn,ecn=true"])
def test_a_scheme_with_noecn_is_written_as_it_was_typed(text: str) -> None:
    scheme = parse(text)
    assert scheme.queue.parameters["noecn"] is True
    assert label_of(scheme.apply_to(lab.Experiment(tcp={"ecn": scheme.ecn or False}))) == text


def test_hosts_with_ecn_get_drops_and_no_marks(tmp_path: Path) -> None:
    marks, drops = lab.compare(
        "codel", "codel:noecn", experiment=experiment(), seeds=[1], baseline=False, out=tmp_path
    ).results
    assert (marks.summary["mark_percent"] > 0, marks.summary["loss_percent"]) == (True, 0)
    assert (drops.summary["mark_percent"], drops.summary["loss_percent"] > 0) == (0, True)
    assert drops.cell.resolved["queue"]["codel"]["noecn"] is True
    assert "noecn" not in marks.cell.resolved["queue"]["codel"], "cells without it keep their names"


def test_one_direction_alone_can_lack_ecn(tmp_path: Path) -> None:
    one_way = experiment(queue={"codel": {}}, queue_back={"codel": {"noecn": True}})
    (result,) = lab.compare("codel", experiment=one_way, seeds=[1], baseline=False, out=tmp_path).results
    forward, reverse = result.summary["directions"]
    assert reverse["mark_percent"] == 0
    assert reverse["loss_percent"] > 0
    assert result.cell.label == "codel / codel:noecn"
    assert forward["loss_percent"] == 0


def test_a_custom_law_can_be_without_ecn(tmp_path: Path) -> None:
    law = lab.QueueSpec.model_validate({Every: {"noecn": True}})
    result = lab.run(experiment(queue=law), out=tmp_path)
    assert result.summary["mark_percent"] == 0
    assert result.summary["loss_percent"] > 0


@pytest.mark.parametrize(("noecn", "answers"), [(False, {"queued", "marked"}), (True, {"queued", "dropped"})])
def test_a_queue_alone_drops_with_noecn_and_keeps_the_ecn_field(noecn: bool, answers: set[str]) -> None:
    queue = lab.Queue(Every, noecn=noecn)
    assert {queue.enqueue(size=1500, ecn="ect1", at=0.001 * number) for number in range(8)} == answers
    sent = [queue.dequeue(at=1.0) for _ in range(queue.packets)]
    assert {packet.ecn for packet in sent if packet} == ({"ect1"} if noecn else {"ect1", "ce"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "queue.droptail.noecn=true",
            "queue.droptail.noecn: has no effect: this discipline never marks in place of a drop, got true",
        ),
        (
            "queue.sfq.noecn=true",
            "queue.sfq.noecn: has no effect: this discipline never marks in place of a drop, got true",
        ),
        (
            "queue.dualpi2.noecn=true",
            "queue.dualpi2.noecn: must be false: this discipline sorts packets by their ECN field, got true",
        ),
        ("queue.pi.noecn=1", "queue.pi.noecn: must be true or false, got 1"),
    ],
)
def test_noecn_without_an_effect_is_refused(aqmlab: Command, change: str, message: str) -> None:
    Path("users.toml").write_text("users.per_side = 2")
    outcome = aqmlab("run", "users.toml", "--set", change)
    assert outcome.code == 2
    assert outcome.err.strip() == f"aqmlab: {message}"


@pytest.mark.parametrize(
    ("scheme", "has", "lacks"),
    [
        ("fq_codel:noecn", " noecn", " ecn"),
        ("codel:noecn", " noecn", " ecn"),
        ("pie:noecn", " noecn", " ecn"),
        ("ared:noecn", "red limit", "ecn"),
        ("fq_cobalt:noecn", "noecn of fq_cobalt: Linux has its own", " noecn\n"),
    ],
)
def test_commands_of_tc_have_noecn(scheme: str, has: str, lacks: str) -> None:
    (cell,) = cells_of(parse(scheme).apply_to(lab.Experiment(users={"per_side": 1})), [1])
    text = str(commands(cell))
    assert has in text
    assert lacks not in text
