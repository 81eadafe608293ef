"""A study's claims over the TCP of a kernel, beside simulated hosts: coverage, counts and errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

import fixtures.results
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.cells.cell import Cell
from aqmlab.store.result import Result
from aqmlab.studies import find
from aqmlab.studies.kit.claims.builders import more, within
from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.claims.review import ReviewedClaim, added_claim
from aqmlab.studies.kit.study import study_cells
from aqmlab.studies.kit.worlds import HOSTS, KERNEL, LIKE_THE_KERNEL, OF_THE_PAPER, WorldsReport, hosts_cells
from conftest import Command
from fixtures.study import MBPS, Tiny, register


class Counted(Tiny):
    """Claims whose outcomes the made-up throughputs below decide."""

    claims: ClassVar[Sequence[ReviewedClaim]] = (
        added_claim("c-1", "1", "droptail carries much", "much", within(MBPS, "droptail", low=5.0)),
        added_claim("c-2", "1", "droptail carries more", "more", more("droptail", "pi", column=MBPS)),
        added_claim("c-3", "1", "a recorded run", "recorded", within(MBPS, "recorded", low=0.0)),
    )

    def printed(self) -> PrintedTables:
        return {}


THROUGHPUTS = {
    KERNEL.name: {"droptail": (9.0, 9.1, 9.2), "pi": (8.0, 8.1, 8.2)},
    LIKE_THE_KERNEL.name: {"droptail": (9.0, 9.1, 9.3), "pi": (8.0, 9.9, 9.3)},
    OF_THE_PAPER.name: {"droptail": (1.0, 1.1, 1.2), "pi": (0.5, 0.6, 0.8)},
}
"""By hosts and run, one value a seed."""


@pytest.fixture
def report(tmp_path: Path) -> WorldsReport:
    def result(hosts: str, run: str, seed: int, mbps: float) -> Result:
        directory = fixtures.results.write(tmp_path / hosts / run / str(seed), summary={"throughput_mbps": mbps})
        spec = fixtures.results.resolved()
        cell = Cell(label=run, signal="drop", load_percent=90, users_per_side=1, spec=spec, seed=seed, experiment="")
        return Result(cell, directory)

    results = {
        hosts: {
            run: [result(hosts, run, seed, mbps) for seed, mbps in enumerate(each, start=1)]
            for run, each in runs.items()
        }
        for hosts, runs in THROUGHPUTS.items()
    }
    return WorldsReport(study=Counted(), length=Counted.lengths["quick"], results=results)


def test_each_claim_has_its_outcome_for_each_kind_of_hosts(report: WorldsReport) -> None:
    outcomes = {claim.claim.id: [claim.outcome(hosts) for hosts in HOSTS] for claim in report.claims}
    assert outcomes == {
        "c-1": ["holds", "holds", "fails"],
        "c-2": ["holds", "undecided", "holds"],
        "c-3": ["not covered", "not covered", "not covered"],
    }
    table = report.outcomes()
    assert dict(zip(table.columns, table.rows[0], strict=True)) == {
        "hosts": "kernel",
        "holds": 2,
        "fails": 0,
        "undecided": 0,
        "inconsistent": 0,
        "not covered": 1,
        "parts held": 2,
        "parts": 2,
    }


def test_agreement_counts_what_both_decide_and_what_one_does(report: WorldsReport) -> None:
    rows = {(row[0], row[1]): row[2:] for row in report.agreement().rows}
    assert rows["kernel and simulated, linux-6", "claims"] == [2, 1, 0, 1, 0]
    assert rows["kernel and simulated, the paper's", "parts"] == [2, 1, 1, 0, 0]


def test_claims_that_hosts_decide_oppositely_have_their_numbers(report: WorldsReport) -> None:
    rows = report.differences().rows
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("c-1", "kernel", "holds"),
        ("c-1", "simulated, linux-6", "holds"),
        ("c-1", "simulated, the paper's", "fails"),
    ]
    assert "1.1 [" in str(rows[2][4])


@pytest.mark.parametrize("name", ["le2003", "le2004"])
def test_hosts_differ_in_their_tcp_profile_alone(name: str) -> None:
    study = find(name)
    length = study.lengths["quick"].repeated(range(1, 2))
    calibrations = load_calibrations()
    own = study_cells(study, length, calibrations)
    papers = hosts_cells(study, length, OF_THE_PAPER, calibrations)
    linux = hosts_cells(study, length, LIKE_THE_KERNEL, calibrations)
    assert papers.keys() == linux.keys()
    for run, (cell,) in papers.items():
        assert cell.key == own[run][0].key
        tables = [dict(each.resolved) for each in (cell, linux[run][0])]
        assert tables[1].pop("tcp")["profile"] == "linux-6"
        assert tables[0].pop("tcp")["ecn"] == linux[run][0].resolved["tcp"]["ecn"]
        assert tables[0] == tables[1], run
    named = {run for claim in study.reviewed_claims() for part in claim.parts for run in part.runs}
    left_out = {run for run, (cell,) in own.items() if run in named and cell.resolved["record"]["exchanges"]}
    assert papers.keys() == named - left_out
    assert bool(left_out) == (name == "le2003"), "the Hurst parameter is a claim of 2003"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ("l4s",),
            "NAME: with --world kernel must be le2003 or le2004 or rfc9332 or tiny, got 'l4s': Linux has no Prague",
        ),
        (("cake",), "got 'cake': no length has been chosen for it"),
        (("tiny", "--full"), "--full: cannot be with --world kernel, which has one length"),
        (("tiny", "--seeds", "x"), "--seeds: "),
    ],
)
def test_a_study_without_a_kernels_length_is_one_line(
    monkeypatch: pytest.MonkeyPatch, aqmlab: Command, arguments: Sequence[str], error: str
) -> None:
    register(monkeypatch)
    outcome = aqmlab("study", *arguments, "--world", "kernel")
    assert outcome.code != 0
    assert error in outcome.err
    assert len(outcome.err.splitlines()) == 1
