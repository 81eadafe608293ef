"""Names of others on a terminal: shown, never obeyed. And tables in a pipe."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from aqmlab.cells.cell import Cell
from aqmlab.running.sweep import sweep
from aqmlab.store.store import Store
from aqmlab.ui import messages
from aqmlab.ui.escaping import visible
from aqmlab.ui.layout import FittedTable
from aqmlab.ui.terminal import Terminal
from conftest import Command

HOSTILE = "red\x1b[31m\x1b]0;title\x07\r\x9b2J\u202eend"
SHOWN = r"red\x1b[31m\x1b]0;title\x07\r\x9b2J\u202eend"
IN_RICH = SHOWN.replace(r"\x07\r", "")
"""Rich's own texts leave out some control characters."""


def test_control_characters_are_shown_as_python_writes_them() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible("tab\tline\nß→±") == "tab\tline\nß→±"
    assert visible("file\udcff") == r"file\udcff"


def test_no_name_of_a_store_is_obeyed_by_a_terminal(aqmlab: Command, cell: Cell, tmp_path: Path) -> None:
    log = tmp_path / "log"
    sweep([replace(cell, label=HOSTILE)], Store("results"))
    outcomes = [
        aqmlab("ls", "results"),
        aqmlab("report", HOSTILE, "--out", "results", "--log", str(log)),
        aqmlab("ls", HOSTILE),
        aqmlab(HOSTILE),
        aqmlab("run", "--set", HOSTILE, "/dev/null"),
    ]
    for outcome in outcomes:
        assert SHOWN in outcome.out + outcome.err or IN_RICH in outcome.out
        assert not {"\x1b", "\x07", "\r", "\x9b", "\u202e"} & set(outcome.out + outcome.err)
    assert SHOWN in log.read_text()
    assert "\x1b" not in log.read_text()


def test_a_terminal_obeys_rich_and_not_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(force_terminal=True, color_system="standard", width=200, markup=False)
    table = Table("name")
    table.add_row(Text(HOSTILE, style="bold"))
    terminal.print(FittedTable(table))
    with Progress(TextColumn("{task.description}"), console=terminal) as progress:
        progress.add_task(HOSTILE)
    stdout = capsys.readouterr().out
    assert IN_RICH in stdout
    assert stdout.count(r"\x1b[31m\x1b]0;ti") >= 2
    assert "\x1b[1m" in stdout, "rich's own stay"
    for sequence in ("\x1b[31m", "\x1b]", "\x07", "\x9b", "\u202e"):
        assert sequence not in stdout


def test_an_error_is_one_line_and_no_longer_than_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    with messages.logging_to_stderr():
        messages.logger.error("a\nb" + "x" * 100_000)
        messages.logger.info("two\nlines")
    stderr = capsys.readouterr().err
    assert stderr.startswith(r"aqmlab: a\nbxxx")
    assert stderr.splitlines()[0].endswith("... (100,004 characters)")
    assert stderr.endswith("\ntwo\nlines\n")
    assert len(stderr) < 2_200
    assert logging.getLogger("aqmlab").propagate


def test_a_row_of_a_table_in_a_pipe_is_one_line(aqmlab: Command, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "pie:" + ",".join(f"key_{number}={number}" for number in range(40))
    sweep([replace(cell, label=long)], Store("results"))
    monkeypatch.delenv("COLUMNS")
    outcome = aqmlab("ls", "results")
    (row,) = (line for line in outcome.out.splitlines() if long in line)
    assert row.split()[0] == cell.key
    assert row.rstrip().endswith(f"{Store('results').cells()['created'][0].astimezone():%Y-%m-%d %H:%M}")
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, aqmlab("ls", "results").out.splitlines())) <= 60


def test_tables_in_a_pipe_are_not_split(aqmlab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "grid.toml").write_text(
        'set = ["link.rate=2 Mbit/s", "users.per_side=9", "protocol.warmup=1 s", "protocol.duration=2 s"]\n'
        'schemes = ["codel", "pie"]\naxes = { "link.delay" = ["1 ms", "2 ms"] }\n'
    )
    options = ("--users", "9", "--warmup", "1 s", "--duration", "2 s", "--seeds", "2", "--no-figures", "--no-baseline")
    for command in (("sweep", "grid.toml", "--seeds", "2"), ("compare", "codel", "pie", *options)):
        monkeypatch.delenv("COLUMNS", raising=False)
        whole = [line for line in aqmlab(*command).out.splitlines() if line.split()[:1] == ["codel"]]
        monkeypatch.setenv("COLUMNS", "50")
        split = [line for line in aqmlab(*command).out.splitlines() if line.split()[:1] == ["codel"]]
        assert 0 < len(whole) < len(split)
        if command[0] == "sweep":
            assert len(whole) == 2


def test_standard_output_is_what_it_was_after_a_command(aqmlab: Command) -> None:
    before = sys.stdout
    aqmlab("--version")
    assert sys.stdout is before
