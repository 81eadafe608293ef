"""Cases that change the link or the application upon a phase: two runs, the same until the change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from aqmlab._core import seconds
from aqmlab.conformance import Outcome, Verdict, conform
from aqmlab.conformance.cases import STANDARDS
from aqmlab.conformance.suite import judge
from aqmlab.conformance.trace import Trace
from aqmlab.store.store import Store

PLAIN = {"path": "bbr-5-probe-up-plateau", "shallow buffer": "bbr-21-probe-up-loss"}
"""A case without changes, by the scenario."""

CASES = {
    "bbr-4-drain-time": ("path", "Drain", 1),
    "bbr-6-probe-up-loss": ("shallow buffer", "ProbeBW_UP", 1),
    "bbr-6-probe-up-bound": ("shallow buffer", "ProbeBW_UP", 1),
    "bbr-7-probe-up": ("path", "ProbeBW_UP", 1),
    "bbr-9-probe-down-wait": ("path", "ProbeBW_DOWN", 2),
    "bbr-9-probe-down-refill": ("path", "ProbeBW_DOWN", 2),
    "bbr-22-pause-bandwidth": ("path", "ProbeBW_REFILL", 1),
    "bbr-22-pause-refill": ("path", "ProbeBW_REFILL", 1),
    "bbr-22-pause-probe-up": ("path", "ProbeBW_REFILL", 1),
}
"""The scenario, the phase and the number of its entry, by the case."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def outcomes(out: Path) -> dict[str, Outcome]:
    found = conform("bbr", cases=[*CASES, *PLAIN.values()], out=out, progress=False)
    return {outcome.case.id: outcome for outcome in found}


def resolved(trace: Trace, out: Path) -> Any:
    result = Store(out).get_by_key(trace.cell)
    assert result is not None
    return result.cell.resolved


@pytest.mark.parametrize("case", list(CASES))
def test_the_change_comes_at_the_entry_and_not_before(case: str, outcomes: dict[str, Outcome], out: Path) -> None:
    scenario, phase, entry = CASES[case]
    plain, changed = outcomes[PLAIN[scenario]].trace, outcomes[case].trace
    at_s = plain.time[plain.entries_into(phase)[entry - 1]]
    spec = resolved(changed, out)
    changes = spec["link"].get("rate_changes") or spec["sources"][0]["bulk"]["rate_changes"]
    assert seconds(changes[0]["at"]) == pytest.approx(at_s)
    before = [trace.rows.filter(pl.col("time_s") < at_s).drop("label") for trace in (plain, changed)]
    assert before[0].equals(before[1])
    assert not plain.rows.equals(changed.rows)


def test_the_application_has_its_rate_from_the_entry_on(outcomes: dict[str, Outcome]) -> None:
    trace = outcomes["bbr-7-probe-up"].trace
    # The queue of before the entry is empty a second later.
    first = trace.at(trace.time[trace.entries_into("ProbeBW_UP")[0]] + 1)
    data = trace.column("delivered_bytes")[[first, -1]]
    assert 8e-6 * (data[1] - data[0]) / (trace.time[-1] - trace.time[first]) == pytest.approx(5, rel=1e-3)


def test_bbr_meets_them(outcomes: dict[str, Outcome]) -> None:
    assert {case: outcomes[case].verdict for case in CASES} == dict.fromkeys(CASES, Verdict.MEETS)


def in_phase(trace: Trace, phase: str, first: int, last: int) -> Trace:
    """Return a trace that is in a phase from a row to the one before another."""
    phases = trace.rows["phase"].to_list()
    phases[first:last] = [phase] * (last - first)
    return replace(trace, rows=trace.rows.with_columns(phase=pl.Series(phases)))


def stay(trace: Trace, phase: str, entry: int = 1) -> tuple[int, int]:
    """Return the first row of a stay, and the row after its last one."""
    phases, first = trace.rows["phase"].to_list(), trace.entries_into(phase)[entry - 1]
    return first, next(row for row in range(first, len(phases)) if phases[row] != phase)


def longer(phase: str, stretch: float, entry: int = 1) -> Callable[[Trace], Trace]:
    def change(trace: Trace) -> Trace:
        first, end = stay(trace, phase, entry)
        return in_phase(trace, phase, first, first + int(stretch * (end - first)))

    return change


def shorter_probe_up(trace: Trace) -> Trace:
    first, end = stay(trace, "ProbeBW_UP")
    return in_phase(trace, "ProbeBW_DOWN", first + (end - first) // 3, end)


def interrupted_probe_up(trace: Trace) -> Trace:
    first, _ = stay(trace, "ProbeBW_UP")
    return in_phase(trace, "ProbeBW_DOWN", first + 500, first + 600)


def scaled(column: str, factor: float, phase: str) -> Callable[[Trace], Trace]:
    """Return a change that scales a column from the middle of the first stay in a phase on."""

    def change(trace: Trace) -> Trace:
        row = sum(stay(trace, phase)) // 2
        later = pl.int_range(pl.len()) >= row
        return replace(
            trace,
            rows=trace.rows.with_columns(pl.when(later).then(pl.col(column) * factor).otherwise(pl.col(column))),
        )

    return change


@pytest.mark.parametrize(
    ("case", "change"),
    [
        ("bbr-4-drain-time", longer("Drain", 2)),
        ("bbr-6-probe-up-loss", longer("ProbeBW_UP", 2)),
        ("bbr-6-probe-up-bound", scaled("inflight_longterm_bytes", 0.25, "ProbeBW_UP")),
        ("bbr-7-probe-up", interrupted_probe_up),
        ("bbr-9-probe-down-wait", longer("ProbeBW_DOWN", 1.5, entry=2)),
        ("bbr-22-pause-bandwidth", scaled("max_bw_mbps", 0.5, "ProbeBW_UP")),
        ("bbr-22-pause-refill", longer("ProbeBW_REFILL", 2)),
        ("bbr-22-pause-probe-up", longer("ProbeBW_UP", 2)),
        ("bbr-22-pause-probe-up", shorter_probe_up),
    ],
)
def test_another_behaviour_fails(case: str, change: Callable[[Trace], Trace], outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[case]
    assert judge(outcome.case, change(outcome.trace)).verdict is Verdict.FAILS


def test_losses_after_probe_up_are_not_covered(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["bbr-6-probe-up-loss"]
    earlier = judge(outcome.case, shorter_probe_up(outcome.trace))
    assert (earlier.verdict, earlier.reason) == (Verdict.NOT_COVERED, "ProbeBW_UP ends before the losses")


def test_a_control_without_the_phase_is_not_covered(tmp_path: Path) -> None:
    (outcome,) = conform("cubic", standard="bbr", cases=["bbr-9-probe-down-wait"], out=tmp_path, progress=False)
    assert (outcome.verdict, outcome.reason) == (Verdict.NOT_COVERED, "the flow does not enter ProbeBW_DOWN 2 times")


def test_only_cases_of_bbr_change_upon_a_phase() -> None:
    changing = [case.id for standard in STANDARDS.values() for case in standard.cases if case.upon is not None]
    assert changing == list(CASES)


def test_each_case_of_the_draft_is_there() -> None:
    numbers = {int(case.id.split("-")[1]) for case in STANDARDS["bbr"].cases}
    assert numbers == set(range(1, 23))
