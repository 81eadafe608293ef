"""Files of traces: their content is part of the experiment, and a mistake is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.spec.capacity import impairments

CSV = "seconds,mbps\n0,8\n1.5,0\n2,4\n"


def cell(directory: Path, name: str, text: str, link: str) -> Cell:
    (directory / name).write_text(text)
    spec = directory / "spec.toml"
    spec.write_text(f"users.per_side = 1\n[link]\noverhead = '4 B'\nrate = {link}\n")
    return cells_of(lab.Experiment.from_toml(spec), [1])[0]


def rate(cell: Cell) -> Any:
    return cell.resolved["link"]["rate"]


def test_files_are_replaced_by_their_content(tmp_path: Path) -> None:
    table = {"trace": {"seconds": [0, 1.5, 2], "mbps": [8, 0, 4]}}
    assert rate(cell(tmp_path, "a.csv", CSV, "{ trace = { file = 'a.csv' } }")) == table
    text = json.dumps(table["trace"])
    assert rate(cell(tmp_path, "a.json", text, "{ trace = { file = 'a.json' } }")) == table
    lines = {"mahimahi": {"opportunities": [0, 3, 3]}}
    both = "{ up = { mahimahi = { file = 'a.trace' } }, down = '5 Mbit/s' }"
    assert rate(cell(tmp_path, "a.trace", "0\n3\n3\n", both)) == {"up": lines, "down": "5 Mbit/s"}


def test_the_content_of_a_file_and_not_its_name_decides_the_key(tmp_path: Path) -> None:
    link = "{{ trace = {{ file = '{}' }} }}"
    keys = [
        cell(tmp_path, name, text, link.format(name)).key
        for name, text in (("a.csv", CSV), ("b.csv", CSV), ("a.csv", CSV + "3,9\n"))
    ]
    assert keys[0] == keys[1] != keys[2]


def test_variants_and_links_in_series_have_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    spec = tmp_path / "spec.toml"
    spec.write_text("users.per_side = 1\n[[link]]\n[[link]]\nrate = { trace = { file = 'a.csv' } }\n")
    links = cells_of(lab.Experiment.from_toml(spec), [1])[0].links
    # 8 Mbit/s for 1.5 s, nothing for 0.5 s, and 4 Mbit/s for 0.5 s.
    assert [link.rate_bps for link in links] == [100_000_000, 5_600_000]


@pytest.mark.parametrize(
    ("name", "text", "mistake"),
    [
        (
            "a.csv",
            "time,rate\n0,1\n",
            "must have the columns seconds and mbps, and at most delay_ms and loss behind them, got 'time,rate'",
        ),
        ("a.csv", "seconds,mbps\n0,fast\n", ", row 1: must be numbers, got '0,fast'"),
        ("a.csv", "seconds,mbps\n0,1,2\n", ", row 1: must have 2 numbers, got '0,1,2'"),
        ("a.csv", "seconds,mbps,loss\n0,1,2\n", "row 1: must have a delay_ms from 0 to 60000 and a loss from 0 to 1"),
        (
            "a.json",
            '{"seconds": [0], "mbps": [5], "loss": [0, 1]}',
            "must have as many values of loss as times, 1, got 2",
        ),
        ("a.csv", "seconds,mbps\n0,1\n2,1\n2,1\n", "row 3: must be after 2 s, got 2 s"),
        ("a.csv", "seconds,mbps\n0,0\n", "must have a rate above 0"),
        ("a.csv", "", "must have the columns seconds and mbps, and at most delay_ms and loss behind them, got ''"),
        ("a.json", '{"seconds": [0]', "line 1: is not JSON: Expecting ',' delimiter"),
        ("a.json", '{"seconds": [0], "rate": [1]}', "rate: unknown key; allowed are seconds, mbps"),
        ("a.trace", "1\n\n2\n", ", line 2: must be a whole number of milliseconds, got ''"),
        ("a.trace", "1\n-2\n", ", line 2: must be a whole number of milliseconds, got '-2'"),
        ("a.trace", "5\n2\n", ", line 2: must be at least 5, got 2"),
        ("a.trace", "0\n", ", line 1: must be above 0, got 0"),
        ("a.trace", "", "must have 1 to 1000000 opportunities, got 0"),
    ],
)
def test_a_mistake_in_a_file_is_one_line_with_its_place(tmp_path: Path, name: str, text: str, mistake: str) -> None:
    kind = "mahimahi" if name.endswith("trace") else "trace"
    with pytest.raises(lab.SpecError) as error:
        cell(tmp_path, name, text, f"{{ {kind} = {{ file = '{name}' }} }}")
    message = str(error.value)
    assert message.startswith(f"link.rate.{kind}.file: {tmp_path / name}")
    assert mistake in message
    assert "\n" not in message


def test_a_missing_file_and_a_second_key_are_refused(tmp_path: Path) -> None:
    for table, mistake in (
        ("file = 'none.csv'", "none.csv cannot be read: No such file or directory"),
        ("file = 5", "must be the name of a file, and the only key"),
        ("file = 'a.csv', mbps = []", "must be the name of a file, and the only key"),
    ):
        with pytest.raises(lab.SpecError, match=r"link\.rate\.trace\.file: ") as error:
            cell(tmp_path, "a.csv", CSV, f"{{ trace = {{ {table} }} }}")
        assert mistake in str(error.value)


def test_a_profile_is_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "voice.txt").write_text("3\n4.5\n-1\n")
    spec = tmp_path / "voice.toml"
    spec.write_text(
        '[link]\nprofile = { up = { file = "voice.txt" }, down = { delay_ms = [1] } }\n[users]\nper_side = 2\n'
    )
    link = lab.Experiment.from_toml(spec).links[0]
    assert link.profile == {"up": {"delay_ms": [3.0, 4.5, -1.0]}, "down": {"delay_ms": [1]}}
    assert impairments.text(link.model_dump(exclude_none=True)).startswith("delays of 3 packets / delays of 1 packets")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3\nlate\n", r"^link\.profile\.file: .*a\.txt: must be numbers of milliseconds: .*'late'"),
        ("", r"^link\.profile\.delay_ms: must have 1 to 1000000 packets, got 0$"),
        ("3\n-2\n", r"^link\.profile\.delay_ms\[1\]: must be -1 or from 0 to 60000 ms, got -2$"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(content)
    link = {"profile": {"file": str(tmp_path / "a.txt")}}
    with pytest.raises(lab.SpecError, match=message):
        cells_of(lab.Experiment(link=link, users={"per_side": 2}), [1])
