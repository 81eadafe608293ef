"""Specs, grids and values beyond the bounds of what is read: one line, before anything is parsed."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab.campaigns.grid import Grid
from aqmlab.spec import bounded_input
from conftest import Command

TOO_DEEP = "at most 32 levels"
TOO_LONG = "at most 400 digits"

EXCESSIVE = [
    pytest.param("a" + ".a" * 40_000 + " = 1", TOO_DEEP, id="dotted key"),
    pytest.param("[" + "a." * 40_000 + "a]", TOO_DEEP, id="dotted header"),
    pytest.param("x = " + "[" * 49_000, TOO_DEEP, id="lists"),
    pytest.param("x = " + "{a = " * 3_000, TOO_DEEP, id="tables"),
    pytest.param("x = " + ("{" + ".".join("a" * 30) + " = ") * 30 + "1" + "}" * 30, TOO_DEEP, id="dots in tables"),
    pytest.param("x = " + "9" * 5_000, TOO_LONG, id="digits"),
    pytest.param("x = " + "1_" * 5_000 + "1", TOO_LONG, id="digits in groups"),
    pytest.param("x = 0x" + "f" * 5_000, TOO_LONG, id="hexadecimal digits"),
    pytest.param("x = 0x1ffffffffffffffff", "x: a whole number must have at most 64 bits", id="bits"),
    pytest.param("#" * (bounded_input.MAX_BYTES + 1), "at most 4,000,000 bytes", id="bytes"),
]


@pytest.mark.parametrize(("text", "says"), EXCESSIVE)
@pytest.mark.parametrize("read", [lab.Experiment.from_toml, Grid.from_toml])
def test_a_file_beyond_the_bounds_is_one_line(
    tmp_path: Path, read: Callable[[Path], object], text: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "bits" not in says:
        monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("it is parsed"))
    file = tmp_path / "spec.toml"
    file.write_text(text)
    with pytest.raises(lab.SpecError, match=says) as error:
        read(file)
    assert str(error.value).startswith(f"{file}: ")
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 200_000, TOO_DEEP),
        ('{"a":' * 5_000, TOO_DEEP),
        ("9" * 5_000, TOO_LONG),
        (str(2**64), "at most 64 bits"),
    ],
)
def test_json_beyond_the_bounds_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    Path(tmp_path, "rtt.json").write_text(text)
    spec = tmp_path / "spec.toml"
    spec.write_text('users.rtt = "rtt.json"')
    with pytest.raises(lab.SpecError, match=says):
        lab.Experiment.from_toml(spec)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("users" + ".a" * 40_000 + "=1", "a path must have at most 32 steps, got 40,001"),
        ("users.path=" + "[" * 49_000, TOO_DEEP),
        ("users.path=" + "{a=" * 3_000, TOO_DEEP),
        ("users.per_side=" + "9" * 5_000, TOO_LONG),
    ],
)
def test_a_change_beyond_the_bounds_is_one_line(aqmlab: Command, change: str, says: str) -> None:
    outcome = aqmlab("run", os.devnull, "--set", change)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert outcome.err.startswith("aqmlab: --set: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("value", ["9" * 5_000, "1/" + "9" * 5_000, "9" * 400 + "/1", "1" * 400, "9" * 5_000 + ".5"])
def test_a_number_beyond_the_bounds_in_a_scheme_is_one_line(aqmlab: Command, value: str) -> None:
    outcome = aqmlab("compare", f"pi:q_ref={value}")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("aqmlab: queue.pi.q_ref: ")
    assert outcome.err.count("\n") == 1


def test_a_device_without_an_end_is_read_to_the_bound(aqmlab: Command) -> None:
    outcome = aqmlab("run", "/dev/zero")
    assert (outcome.code, outcome.err) == (2, "aqmlab: /dev/zero: must have at most 4,000,000 bytes\n")


@pytest.mark.parametrize("text", ["", "# nothing\n", "\n"])
def test_an_empty_spec_or_grid_is_refused(aqmlab: Command, text: str) -> None:
    Path("empty.toml").write_text(text)
    for words, says in (
        (("run",), "an empty spec asks for nothing"),
        (("sweep",), "must have schemes or axes"),
    ):
        outcome = aqmlab(*words, "empty.toml")
        assert (outcome.code, outcome.out) == (2, "")
        assert says in outcome.err
    with pytest.raises(lab.SpecError, match="an empty spec"):
        lab.Experiment.from_toml(os.devnull)
    assert lab.Experiment.from_toml(os.devnull, changes=["users.load=80"]).users.load == 80


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    spec = tmp_path / "windows.toml"
    spec.write_bytes(b'\xef\xbb\xbfusers.load = 80\r\nusers.rtt = "rtt.json"\r\n')
    table = {"source": "mine", "distribution": {"uniform_ms": {"min": 10, "max": 50}}}
    Path(tmp_path, "rtt.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(table).encode())
    experiment = lab.Experiment.from_toml(spec)
    assert experiment.users.load == 80
    assert experiment.users.rtt == table


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('tcp = {profile = "linux-6"}\n[[tcp.mix]]\nshare = 1', "tcp.mix: cannot add to what is written in braces"),
        ("sources = [1]\n[[sources]]", "sources: cannot add to what is written in braces or brackets above"),
        ("[link]\n[link]", r"the table \[link\] is given twice \(at line 2"),
    ],
)
def test_a_table_written_in_two_styles_is_told_in_terms_of_toml(tmp_path: Path, text: str, says: str) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(text)
    with pytest.raises(lab.SpecError, match=says) as error:
        lab.Experiment.from_toml(spec)
    assert "('" not in str(error.value)


_VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.\"'[{#", max_size=4), inner, max_size=3),
    max_leaves=20,
)


@given(_VALUES)
def test_what_is_within_the_bounds_is_read_as_it_is(value: Any) -> None:
    assert bounded_input.from_json(json.dumps(value)) == value


@given(st.text("ab.='\"\\[]{}#,\n1 ", max_size=60))
def test_whatever_toml_refuses_or_reads_so_do_we(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(bounded_input.ParseError):
            bounded_input.toml(text)
    else:
        assert bounded_input.toml(text) == expected
