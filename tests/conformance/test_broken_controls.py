"""Controls that break one clause on purpose fail at its case, and at no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqmlab.conformance import Outcome, Verdict, conform

KNOWN = {"reno": "Reno", "cubic": "Cubic", "dctcp": "Dctcp"}


def outcomes_of(standard: str, out: Path, *changes: str) -> list[Outcome]:
    control = f"textbook_controls:{KNOWN[standard]}"
    set_parameters = [f"tcp.control.{change}" for change in changes]
    return conform(control, standard=standard, changes=set_parameters, out=out, progress=False)


def names(outcomes: list[Outcome], verdict: Verdict) -> set[str]:
    return {outcome.case.id for outcome in outcomes if outcome.verdict is verdict}


@pytest.mark.slow
@pytest.mark.parametrize("standard", list(KNOWN))
def test_a_control_of_ones_own_as_the_rfc_meets_all(standard: str, tmp_path: Path) -> None:
    outcomes = outcomes_of(standard, tmp_path)
    assert {outcome.case.id: outcome.text for outcome in outcomes if outcome.verdict is Verdict.FAILS} == {}
    not_covered = names(outcomes, Verdict.NOT_COVERED)
    assert not_covered == ({"dctcp-step-alpha"} if standard == "dctcp" else set())


BROKEN = {
    "reno": {
        "loss_factor=0.8": {"reno-halving"},
        "timeout_factor=0.9": {"reno-timeout-threshold"},
        "timeout_window=4": {"reno-loss-window"},
        "growth=2": {"reno-congestion-avoidance"},
        "slow_start=0.5": {"reno-slow-start"},
    },
    "cubic": {
        "beta=0.5": {"cubic-beta"},
        "c=0.8": {"cubic-c"},
        "fast_convergence=false": {"cubic-fast-convergence"},
        "alpha=1": {"cubic-friendly"},
        "alpha_above=0.5": {"cubic-friendly-above"},
    },
    "dctcp": {
        "gain=0.125": {"dctcp-gain"},
        "initial_alpha=0.5": {"dctcp-initial-alpha"},
        "loss_factor=0.9": {"dctcp-loss"},
        "each_mark=true": {"dctcp-once-a-window"},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("standard", "change", "clauses"),
    [(standard, change, clauses) for standard, broken in BROKEN.items() for change, clauses in broken.items()],
)
def test_a_broken_control_fails_at_its_clause_alone(
    standard: str, change: str, clauses: set[str], tmp_path: Path
) -> None:
    assert names(outcomes_of(standard, tmp_path, change), Verdict.FAILS) == clauses
