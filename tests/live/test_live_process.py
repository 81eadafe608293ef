"""Watchdog for a silent program: an end in one line, and no partial cell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.cells.cell import Cell
from aqmlab.live.run import run_live
from aqmlab.running import process
from aqmlab.running.errors import LiveError
from aqmlab.running.process import LiveRun

STUB = """#!/bin/sh
cat > /dev/null
printf '{says}'
exec sleep 600 {output}
"""

NOW = r'{"now_s": 1.0, "end_s": 70.0}\n'
TABLE = r'{"table": "link", "columns": [["time_s", "float64"]], "bytes": 16}\n'

NOTHING_MORE = "live: aqmlab-live has said nothing for 0.5 s"
NO_END = "live: aqmlab-live says no more, and has not ended after 0.5 s"


@pytest.fixture(
    params=[
        ("", "", NOTHING_MORE),
        (NOW, "", NOTHING_MORE),
        ('{"now_s":', "", NOTHING_MORE),
        (f"{TABLE}12345678", "", NOTHING_MORE),
        (NOW, ">&-", NO_END),
    ],
    ids=["from the start", "after a second", "within a line", "within a table", "with its output closed"],
)
def silent(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put a program that falls silent in the place of the real one: what is to be said of it."""
    says, output, said_of_it = request.param
    stub = tmp_path / "aqmlab-live"
    stub.write_text(STUB.format(says=says, output=output))
    stub.chmod(0o755)
    monkeypatch.setattr(process, "PROGRAM", stub)
    monkeypatch.setattr(process, "PATIENCE_S", 0.5)
    return str(said_of_it)


def test_a_program_that_falls_silent_is_given_up_and_killed(silent: str, small_cell: Cell) -> None:
    with pytest.raises(LiveError) as refusal, LiveRun(small_cell) as live:
        live.advance(70.0)
    assert str(refusal.value) == silent
    with pytest.raises(ProcessLookupError):
        os.kill(live.process, 0)


def test_nothing_of_it_is_in_the_store(silent: str, small: lab.Experiment, tmp_path: Path) -> None:
    with pytest.raises(LiveError) as refusal:
        run_live(small, out=tmp_path / "results")
    assert str(refusal.value) == silent
    assert lab.Store(tmp_path / "results").cells().is_empty()
    assert not list((tmp_path / "results").glob("drafts/*/"))
