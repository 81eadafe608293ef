"""A queue discipline for each direction of one link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.reports import reproduce
from aqmlab.reports.selection import Choice, select
from aqmlab.spec import schemes

FLOOD = [
    {"datagrams": {"name": "up", "rate": "3 Mbit/s", "packet": "1000 B", "side": 0, "jitter": 0.5}},
    {"datagrams": {"name": "down", "rate": "3 Mbit/s", "packet": "1000 B", "side": 1, "jitter": 0.5}},
]

SPEC = """
sides = ["home", "internet"]
[link]
rate = "2 Mbit/s"
device_fifo = 0
[queue.pi]
q_ref = 10
[queue_back.droptail]
limit = 50
[users]
per_side = 0
[[sources]]
datagrams = { name = "up", rate = "3 Mbit/s", side = "home" }
[protocol]
warmup = "0 s"
duration = "3 s"
"""


LINK = {"rate": "2 Mbit/s", "device_fifo": 0}


def experiment(**parts: Any) -> lab.Experiment:
    usual = {
        "link": LINK,
        "queue": {"pi": {"q_ref": 10}},
        "users": {"per_side": 0},
        "sources": FLOOD,
        "protocol": {"warmup": "1 s", "duration": "5 s"},
    }
    return lab.Experiment(**usual | parts)


def cell(experiment_of_cell: lab.Experiment) -> Cell:
    (single,) = cells_of(experiment_of_cell, [1], load_calibrations())
    return single


def directions(experiment_of_run: lab.Experiment, out: Path) -> list[dict[str, Any]]:
    counters: list[dict[str, Any]] = lab.run(experiment_of_run, out=out).summary["directions"]
    return counters


def test_each_direction_does_as_under_its_discipline_alone(tmp_path: Path) -> None:
    pi, droptail = {"pi": {"q_ref": 10}}, {"droptail": {"limit": 50}}
    unlike = directions(experiment(queue=pi, queue_back=droptail), tmp_path)
    under_pi, under_droptail = (directions(experiment(queue=queue), tmp_path) for queue in (pi, droptail))
    assert unlike == [under_pi[0], under_droptail[1]]
    assert unlike[1] != under_pi[1]


def test_a_change_gives_the_reverse_direction_another_discipline(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(SPEC)
    changed = lab.Experiment.from_toml(file, changes=["queue_back.fq_codel.limit=300"])
    assert cell(changed).resolved["queue_back"]["fq_codel"]["limit"] == "300 packets"
    assert cell(changed).resolved["queue"]["pi"]["q_ref"] == 10
    chain = experiment(link=[LINK, {**LINK, "queue": {"codel": {}}}]).with_changes(
        ["link[1].queue_back.droptail.limit=7"]
    )
    assert [list(link["queue_back"]) if "queue_back" in link else None for link in cell(chain).resolved["link"]] == [
        None,
        ["droptail"],
    ]


def test_a_cell_is_called_by_the_disciplines_of_both_directions() -> None:
    unlike = cell(experiment(queue_back={"droptail": {"limit": 50}}))
    assert (unlike.label, unlike.scheme) == ("pi:q_ref=10 / droptail:limit=50", "pi / droptail")
    assert unlike.parameters["reverse"] == {"droptail": {"limit": "50 packets"}}
    assert unlike.parameters["forward"]["pi"]["q_ref"] == 10
    symmetric = cell(experiment(queue_back={"pi": {"q_ref": 10}}))
    assert (symmetric.label, symmetric.scheme, symmetric.key) == ("pi:q_ref=10", "pi", cell(experiment()).key)
    chain = cell(experiment(link=[{"queue_back": {"codel": {}}}, {"queue": {"red": {}}}]))
    assert (chain.label, chain.scheme) == ("pi:q_ref=10 / codel | red", "pi / codel | red")
    assert list(chain.parameters) == ["link 1 forward", "link 1 reverse", "link 2 forward", "link 2 reverse"]


def test_a_scheme_leaves_the_discipline_of_the_reverse_direction(tmp_path: Path) -> None:
    spec = experiment(queue_back={"droptail": {"limit": 50}})
    compared = lab.compare("codel", "pie", experiment=spec, seeds=[1], baseline=True, out=tmp_path)
    labels = [scheme["label"] for scheme in compared.schemes]
    assert labels == ["uncongested", "codel / droptail:limit=50", "pie / droptail:limit=50"]
    assert [result.cell.scheme for result in compared.results] == ["droptail", "codel / droptail", "pie / droptail"]
    assert schemes.parse("codel").apply_to(spec).queue_back == spec.queue_back


def test_a_scheme_that_no_link_takes_is_refused() -> None:
    link = {"queue": {"droptail": {"limit": 50}}}
    spec = experiment(link=[{"rate": "1 Mbit/s", **link}, {**link, "queue_back": {"codel": {}}}])
    with pytest.raises(lab.SpecError, match="codel: no link takes it: every link has a queue of its own"):
        lab.compare("codel", "pie", experiment=spec, seeds=[1])


def test_a_label_names_the_links_that_keep_their_queues(tmp_path: Path) -> None:
    spec = experiment(link=[{"rate": "1 Mbit/s"}, {**LINK, "queue": {"droptail": {"limit": 50}}}])
    compared = lab.compare("codel", "pie:qdelay_ref=20 ms", experiment=spec, seeds=[1], baseline=False, out=tmp_path)
    labels = [scheme["label"] for scheme in compared.schemes]
    assert labels == ["codel | droptail:limit=50", "pie:qdelay_ref=20 ms | droptail:limit=50"]
    assert compared.notes == ["In labels, a | b names the queues of link 1, link 2 and so on."]


def test_experiments_differing_in_discipline_share_a_digest() -> None:
    two_disciplines, one_discipline = (
        cell(experiment(**parts)) for parts in ({"queue_back": {"droptail": {"limit": 50}}}, {})
    )
    assert two_disciplines.key != one_discipline.key
    assert two_disciplines.experiment == one_discipline.experiment


def test_a_report_repeats_schemes_beside_a_queue_that_stays(tmp_path: Path) -> None:
    spec = experiment(queue_back={"droptail": {"limit": 50}})
    lab.compare("codel", "pie", experiment=spec, seeds=[1], out=tmp_path)
    (step,) = reproduce.steps(select(tmp_path, Choice()))
    assert step.commands == ["aqmlab compare experiment.toml codel pie --seeds 1-1"]
    assert "[queue_back.droptail]" in step.spec


def test_a_sweep_varies_the_reverse_direction_alone(tmp_path: Path) -> None:
    swept = lab.sweep(lab.Grid(spec=experiment(), axes={"queue_back.droptail.limit": [5, 50]}), seeds=[1], out=tmp_path)
    stored = lab.Store(tmp_path).find([planned.cell for planned in swept.planned])
    small_limit, large_limit = (stored[planned.cell.key].summary["directions"] for planned in swept.planned)
    assert small_limit[0] == large_limit[0]
    assert small_limit[1]["queue_packets_p99"] <= 5 < large_limit[1]["queue_packets_p99"]


def test_a_custom_law_may_stand_in_either_direction_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    law = "import aqmlab as lab\nclass Never(lab.Law):\n    def on_enqueue(self, pkt, queue, now):\n        return {}\n"
    (tmp_path / "one_way.py").write_text(law.format("lab.Verdict.DROP"))
    monkeypatch.syspath_prepend(tmp_path)
    drop: dict[str, Any] = {"one_way:Never": {}}
    droptail = {"droptail": {"limit": 50}}
    for parts, lost in (({"queue": drop, "queue_back": droptail}, 0), ({"queue": droptail, "queue_back": drop}, 1)):
        counters = directions(experiment(**parts), tmp_path / "out")
        assert counters[lost]["loss_percent"] == 100
        assert counters[1 - lost]["loss_percent"] < 60


def test_names_of_sides_are_no_part_of_tables(tmp_path: Path) -> None:
    plain, named = (lab.run(experiment(**parts), out=tmp_path) for parts in ({}, {"sides": ("home", "internet")}))
    for table in ("summary", "queue", "link", "response_times"):
        assert plain.file(table).read_bytes() == named.file(table).read_bytes()
    assert named.cell.direction_names == ("home→internet", "internet→home")
    assert named.cell.resolved["sides"] == ["home", "internet"]


def test_links_with_own_queues_need_none_of_the_spec(tmp_path: Path) -> None:
    links = [{"rate": "2 Mbit/s", "queue": {"pie": {}}}, {"rate": "1 Mbit/s", "queue": {"droptail": {"limit": 40}}}]
    short = lab.Protocol(warmup="1 s", duration="2 s")
    result = lab.run(lab.Experiment(link=links, users={"per_side": 20}, protocol=short), out=tmp_path)
    assert [list(link["queue"]) for link in result.cell.resolved["link"]] == [["pie"], ["droptail"]]
    assert result.summary["throughput_mbps"] > 0
