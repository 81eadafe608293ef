"""Conversations of one flow in the simulator and in a Linux kernel, against the record of their differences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_kernel import _kernel_permitted  # noqa: F401, the fixture of both files

from aqmlab.cells import kernel
from aqmlab.conversations.differences import find_differences
from aqmlab.conversations.segments import Conversation, Segment
from conftest import Command
from conversations.__main__ import measure, page, read_record
from conversations.experiments import TALKS, Talk

GUIDE = Path(__file__).parents[2] / "docs" / "guide"

needs_kernel = pytest.mark.usefixtures("_kernel_permitted")

RECORD = read_record(GUIDE)


@needs_kernel
@pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk.name)
def test_a_conversation_agrees_as_far_as_recorded(talk: Talk) -> None:
    if kernel.series() != RECORD.linux:
        pytest.skip(f"the record is of Linux {RECORD.linux}, and this one is {kernel.series()}")
    (recorded,) = [row for row in RECORD.rows if row["conversation"] == talk.name]
    assert measure(talk) == recorded, "run make conversations, and look at the difference"


def test_the_page_has_the_table_of_its_record() -> None:
    assert (GUIDE / "tcp-conversations.md").read_text(encoding="utf-8") == page(RECORD)
    assert [row["conversation"] for row in RECORD.rows] == [talk.name for talk in TALKS]


@needs_kernel
def test_the_command_shows_both_worlds_at_the_difference(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "one-flow.toml"
    spec.write_text("""
        users = {per_side = 0}
        sources = [{bulk = {flows = 1, bytes = "30 kB", rtt = {fixed = "10 ms"}}}]
        protocol = {warmup = "0 s", duration = "3 s"}
    """)
    text = aqmlab("conversation", str(spec), "--kind", "window", "--context", "1").out
    simulated, _, kernel = text.partition("simulated:")[2].partition("kernel:")
    assert simulated.count("*") == kernel.count("*") == 1
    (connection,) = json.loads(aqmlab("conversation", str(spec), "--json").out)["connections"]
    assert connection["compared"] > 20
    refused = aqmlab("conversation", str(spec), "--kind", "colour").err
    assert refused.strip().endswith("--kind: must be one of content, time, window, got colour")


def _segment(time_ns: int, seq: int, **changes: object) -> Segment:
    flags, sack, options = ("ACK",), (), ()
    plain = Segment(">", time_ns, seq, 1448, 1, 65535, flags, "not-ECT", sack, options, "passed")
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_the_first_difference_is_found_by_kind() -> None:
    first = Conversation(0, [_segment(0, 1), _segment(10, 1449), _segment(20, 2897), _segment(30, 4345)])
    second = Conversation(5, [_segment(0, 1), _segment(12, 1449), _segment(20, 2897, window=9), _segment(30, 1)])
    found = find_differences(first, second)
    assert found.content is not None
    assert (found.content.number, found.content.fields, found.compared) == (3, ("seq",), 3)
    assert found.time is not None
    assert (found.time.number, found.greatest_lag_ns) == (1, 2)
    assert found.window is not None
    assert found.window.number == 2
    assert find_differences(first, second, tolerance_ns=2).time is None


def test_a_missing_segment_is_a_difference_in_content() -> None:
    first = Conversation(0, [_segment(0, 1), _segment(10, 1449)])
    found = find_differences(first, Conversation(0, first.segments[:1]))
    assert found.content is not None
    assert (found.content.fields, found.content.second, found.compared) == (("presence",), None, 1)
    assert find_differences(first, first).content is None
