"""Controls of this machine's kernel held to the clauses of their standards, in real time."""

from __future__ import annotations

from pathlib import Path

import pytest

from aqmlab._core import SpecError
from aqmlab.conformance import Outcome, Verdict, conform, plan
from aqmlab.live.run import run_live_cells
from aqmlab.live.settings import Settings
from aqmlab.store.store import Store

needs_live = pytest.mark.usefixtures("_live_permitted")


def skip_if_invalid(outcome: Outcome) -> None:
    """Skip the test if the machine was too busy."""
    if outcome.reason.startswith("the run is invalid"):
        pytest.skip(outcome.reason)


@needs_live
def test_linux_sends_the_initial_window_of_rfc_6928(tmp_path: Path) -> None:
    shorter = ["protocol.duration=1 s"]
    (first,) = conform(
        "reno", cases=["reno-initial-window"], changes=shorter, world="live", out=tmp_path, progress=False
    )
    skip_if_invalid(first)
    assert (first.verdict, first.seen) == (Verdict.MEETS, 10 * 1448)
    (cell,) = Store(tmp_path).cells(["world"]).rows()
    assert cell == ("live",)


@needs_live
def test_a_case_that_needs_another_slow_start_is_not_covered(tmp_path: Path) -> None:
    (rise,) = conform("reno", cases=["hystart++-small-rise"], world="live", out=tmp_path, progress=False)
    assert (rise.verdict, rise.seen, rise.reason) == (Verdict.NOT_COVERED, None, "the kernel has its own hystart")


@needs_live
def test_an_invalid_run_covers_nothing_and_is_repeated(tmp_path: Path) -> None:
    suite, store = plan("reno", cases=["rack-tlp-tail"], world="live"), Store(tmp_path)
    strict = Settings(late_p99_ms=0)
    (invalid,) = suite.run(lambda cells: run_live_cells(cells, store, settings=strict, progress=False))
    assert (invalid.verdict, invalid.seen) == (Verdict.NOT_COVERED, None)
    assert invalid.reason.startswith("the run is invalid: the router's lateness p99 is ")
    (first,) = store.cells(["created"]).rows()
    (repeated,) = suite.run(lambda cells: run_live_cells(cells, store, progress=False))
    skip_if_invalid(repeated)
    assert repeated.seen is not None
    (second,) = store.cells(["created"]).rows()
    assert second > first
    suite.run(lambda cells: run_live_cells(cells, store, progress=False))
    assert store.cells(["created"]).rows() == [second], "a valid run is not run again"


def test_live_runs_have_no_workers(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="workers: live runs are one at a time, got 2"):
        conform("reno", cases=["rack-tlp-tail"], world="live", out=tmp_path, workers=2)


def test_a_custom_control_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a custom control runs in the simulator only, and a live run has none"):
        conform("textbook_controls:Reno", standard="reno", world="live", out=tmp_path)
