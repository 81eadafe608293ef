"""Cases that change the link when the flow enters a phase: two runs, the same until the change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from aqmlab._core import seconds
from aqmlab.conformance import Outcome, Verdict, conform
from aqmlab.conformance.cases import STANDARDS
from aqmlab.conformance.suite import judge
from aqmlab.store.store import Store

CASES = ("bbr-4-drain-time", "bbr-9-probe-down-wait", "bbr-9-probe-down-refill")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def outcomes(out: Path) -> dict[str, Outcome]:
    found = conform("bbr", cases=[*CASES, "bbr-3-drain-gain"], out=out, progress=False)
    return {outcome.case.id: outcome for outcome in found}


def test_the_change_comes_at_the_entry_and_not_before(outcomes: dict[str, Outcome], out: Path) -> None:
    plain = outcomes["bbr-3-drain-gain"].trace
    for case, phase, entry in (("bbr-4-drain-time", "Drain", 0), ("bbr-9-probe-down-wait", "ProbeBW_DOWN", 1)):
        changed = outcomes[case].trace
        at_s = plain.time[plain.entries_into(phase)[entry]]
        result = Store(out).get_by_key(changed.cell)
        assert result is not None
        (change,) = result.cell.resolved["link"]["rate_changes"]
        assert seconds(change["at"]) == pytest.approx(at_s)
        before = [trace.rows.filter(pl.col("time_s") < at_s).drop("label") for trace in (plain, changed)]
        assert before[0].equals(before[1])
        assert not plain.rows.equals(changed.rows)


def test_bbr_leaves_its_phases_by_time(outcomes: dict[str, Outcome]) -> None:
    assert {case: outcomes[case].verdict for case in CASES} == dict.fromkeys(CASES, Verdict.MEETS)


def test_a_longer_stay_fails(outcomes: dict[str, Outcome]) -> None:
    for case, phase, stretch in (("bbr-4-drain-time", "Drain", 2.0), ("bbr-9-probe-down-wait", "ProbeBW_DOWN", 1.5)):
        outcome = outcomes[case]
        trace = outcome.trace
        entry = trace.entries_into(phase)[0 if phase == "Drain" else 1]
        stays = trace.rows["phase"].to_list()
        end = next(row for row in range(entry, len(stays)) if stays[row] != phase)
        last = entry + int(stretch * (end - entry))
        longer = pl.Series([phase if entry <= row < last else stay for row, stay in enumerate(stays)])
        changed = replace(trace, rows=trace.rows.with_columns(phase=longer))
        assert judge(outcome.case, changed).verdict is Verdict.FAILS, case


def test_a_control_without_the_phase_is_not_covered(tmp_path: Path) -> None:
    (outcome,) = conform("cubic", standard="bbr", cases=["bbr-9-probe-down-wait"], out=tmp_path, progress=False)
    assert (outcome.verdict, outcome.reason) == (Verdict.NOT_COVERED, "the flow does not enter ProbeBW_DOWN 2 times")


def test_only_cases_of_bbr_change_the_link_upon_a_phase() -> None:
    changing = [case.id for standard in STANDARDS.values() for case in standard.cases if case.upon is not None]
    assert changing == list(CASES)
