"""Testbeds on the command line: the first line names them, and ``show`` lists their values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command

LINE = "Testbed unc-2003: The testbed of Le, Aikat, Jeffay and Smith (SIGCOMM 2003)"
SHORT = ("--warmup", "1 s", "--duration", "2 s", "--seeds", "1")
SET = tuple(
    word
    for change in ("users.per_side=20", "protocol.warmup=1 s", "protocol.duration=2 s")
    for word in ("--set", change)
)

SPEC = """
testbed = "unc-2003"
users.per_side = 20
protocol = { warmup = "1 s", duration = "2 s" }
"""


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "droptail", "--users", "20", *SHORT, "--no-figures"),
        ("run", "spec.toml"),
        ("show", "spec.toml"),
        ("sweep", "grid.toml", "--seeds", "1"),
        ("tune", "codel", "--over", "target=1 ms..30 ms", "--minimise", "delay", "--trials", "2", "--seeds", "1", *SET),
        ("sensitivity", "codel", "--over", "target=1 ms..9 ms", "--of", "delay", "--points", "2", "--seeds", "1", *SET),
    ],
    ids=lambda words: words[0],
)
def test_the_first_line_names_the_testbed(aqmlab: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    changes = [change for change in SET if change != "--set"]
    (tmp_path / "grid.toml").write_text(f'schemes = ["droptail"]\nset = {json.dumps(changes)}\n')
    outcome = aqmlab(*words)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(LINE)


def test_a_spec_without_a_testbed_has_no_such_line(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC.replace('testbed = "unc-2003"', ""))
    assert "Testbed" not in aqmlab("run", "spec.toml").out
    assert "Testbed" not in aqmlab("show", "spec.toml").out


def test_show_lists_what_the_spec_does_not_write_with_its_origin(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    record = json.loads(aqmlab("show", "spec.toml", "--json").out)
    listed = {value["path"]: value for value in record["unwritten"]}
    assert listed["link.device_fifo"]["value"] == record["spec"]["link"]["device_fifo"] == 256
    assert listed["link.device_fifo"]["origin"].startswith("testbed unc-2003: ")
    assert listed["tcp.receive_window"]["origin"] == "profile unc-testbed"
    assert not listed.keys() & {"testbed", "users.per_side", "protocol.warmup"}
    assert all(path in aqmlab("show", "spec.toml").out for path in ("link.device_fifo", "hosts.rate"))
