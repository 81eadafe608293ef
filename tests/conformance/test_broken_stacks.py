"""Stacks and controls that lack what a standard demands fail at its clauses, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqmlab.conformance import Verdict, conform

PROBES = {"rack-tlp-probe", "rack-tlp-last-segment", "rack-tlp-reordering-window"}


@pytest.mark.parametrize(
    ("control", "standard", "changes", "failing"),
    [
        ("prague", "prague", ["tcp.prague_reference_rtt=50 ms"], {"prague-reference"}),
        ("reno", "rack-tlp", ["tcp.rack=false"], {*PROBES, "rack-tlp-tail"}),
        # LEDBAT sets its window itself, and sends more in recovery.
        ("ledbat", "prr", [], {"prr-proportional"}),
        # Another target is within the bounds of the clause.
        ("ledbat", "ledbat", ["tcp.ledbat_target=60 ms"], {"ledbat-initial-window"}),
    ],
)
def test_what_a_stack_lacks_fails_its_clauses_alone(
    control: str, standard: str, changes: list[str], failing: set[str], tmp_path: Path
) -> None:
    outcomes = conform(control, standard=standard, changes=changes, out=tmp_path, progress=False)
    assert {outcome.case.id for outcome in outcomes if outcome.verdict is Verdict.FAILS} == failing
