"""``--table``: what a command prints, as a file of each form."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest

import aqmlab as lab
from aqmlab.cli.tables import SUFFIXES, write_table
from conftest import Command
from reference.commands import leaves

FAST = ("--users", "20", "--warmup", "1 s", "--duration", "2 s", "--no-figures")
ROWS = pl.DataFrame(
    {"scheme": ["a|b_c & 50 %", "x→y"], "mean": [1234.5678, None], "n": [3, 2], "list": [[1, 2], None]},
    schema_overrides={"list": pl.List(pl.Int64)},
)


def read(file: Path) -> list[list[str]]:
    """Read a table's cells, by a way of its own for each form."""
    text = file.read_text() if file.suffix != ".parquet" else ""
    if file.suffix == ".csv":
        return list(csv.reader(text.splitlines()))
    if file.suffix == ".md":
        head, _, *body = ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines())
        return [head, *body]
    if file.suffix == ".tex":
        lines = [line.removesuffix(r" \\") for line in text.splitlines() if line.endswith(r"\\")]
        return [[cell.replace("\\", "") for cell in re.split(r" (?<!\\)& ", line)] for line in lines]
    frame = pl.read_parquet(file)
    return [frame.columns, *([str(cell) for cell in row] for row in frame.iter_rows())]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_comparison_is_written_in_each_form(suffix: str, aqmlab: Command, tmp_path: Path) -> None:
    file = tmp_path / f"table{suffix}"
    schemes = ("codel", "pie")
    arguments = ("compare", *schemes, *FAST, "--seeds", "2", "--no-baseline", "--measures", "loss,p95")
    outcome = aqmlab(*arguments, "--table", str(file), "--sd")
    assert outcome.code == 0, outcome.err
    assert str(file) in outcome.err
    head, *rows = read(file)
    assert [cell.replace("\\", "") for cell in head] == [
        *("scheme", "measure", "unit", "mean", "low", "high", "half_width", "sd", "n")
    ]
    assert [(row[0], row[1]) for row in rows] == [(scheme, name) for name in ("loss", "p95") for scheme in schemes]
    means = [float(row[3]) for row in rows if row[1] == "p95"]
    results = [[lab.Store("results").cells().filter(label=scheme)["response_time_ms_p95"].mean()] for scheme in schemes]
    assert means == pytest.approx([result for (result,) in results], rel=1e-3)


def test_texts_are_escaped_for_their_form(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        write_table(ROWS, tmp_path / f"t{suffix}")
    assert (tmp_path / "t.md").read_text().splitlines()[2] == r"| a\|b_c & 50 % | 1235 | 3 | [1, 2] |"
    assert r"a|b\_c \& 50 \% & 1235 & 3 & [1, 2] \\" in (tmp_path / "t.tex").read_text()
    assert pl.read_parquet(tmp_path / "t.parquet").equals(ROWS)
    assert pl.read_csv(tmp_path / "t.csv")["mean"].to_list() == ROWS["mean"].to_list()


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        (("ls", "results"), {"cell", "label", "rate_mbps", "experiment"}),
        (
            ("tune", "codel", "--over", "target=1 ms..9 ms", "--minimise", "delay", "--trials", "2", "--seeds", "1"),
            {"scheme", "target", "delay, ms"},
        ),
        (
            ("sensitivity", "codel", "--over", "target=1 ms..9 ms", "--of", "delay", "--points", "2", "--seeds", "1"),
            {"measure", "parameter", "mu_star"},
        ),
        (("aqm", "list"), {"name", "family", "decides_at", "summary"}),
        (("aqm", "show", "red"), {"name", "unit", "default", "meaning", "source"}),
        (
            ("design", "pi", "--rate", "10 Mbit/s", "--flows", "40", "--rtt-max", "200 ms"),
            {"name", "value", "unit", "meaning", "rule", "source"},
        ),
        (
            ("calibrate", "--most-users", "400", "--warmup", "5 s", "--duration", "20 s"),
            {"workload", "rtt", "sides", "load_percent", "users_per_side", "published_users_per_side"},
        ),
        (("run", "spec.toml"), {"measure", "unit", "value"}),
        (("show", "spec.toml"), {"path", "value", "origin"}),
        (("explain", "CELL"), {"band", "requests", "response_time_ms"}),
        (("explain", "CELL", "--slowest", "1"), {"request", "response_time_ns", "losses"}),
        (
            ("advise", "--down", "4 Mbit/s", "--up", "2 Mbit/s", "--rtt", "20 ms", "--seeds", "2"),
            {"where", "scheme", "measure", "mean", "behind_percent", "behind_percent_high"},
        ),
    ],
    ids=lambda given: " ".join(given[:2]) if isinstance(given, tuple) else "",
)
def test_commands_write_their_tables(
    command: tuple[str, ...], columns: set[str], aqmlab: Command, tmp_path: Path
) -> None:
    stored = aqmlab("compare", "codel", *FAST, "--seeds", "1", "--no-baseline", "--json").out
    spec = tmp_path / "spec.toml"
    spec.write_text('users.per_side = 30\nlink.rate = "2 Mbit/s"\nprotocol = { warmup = "1 s", duration = "5 s" }\n')
    name, *arguments = command
    experiment = (str(spec),) if name in ("tune", "sensitivity") else ()
    (cell,) = json.loads(stored)["cells"]
    given = (cell["cell"] if word == "CELL" else word for word in arguments)
    outcome = aqmlab(name, *experiment, *given, "--table", "table.parquet")
    assert outcome.code == 0, outcome.err
    table = pl.read_parquet("table.parquet")
    assert columns <= set(table.columns)
    assert not table.is_empty()


def test_a_command_with_json_has_a_table_or_prints_none() -> None:
    options = {command: {option.name for option in leaf.params} for command, leaf in leaves()}
    without = {command for command, names in options.items() if "as_json" in names and not names & {"table", "file"}}
    assert without == {"aqmlab check", "aqmlab doctor"}


def test_the_table_of_a_run_has_the_numbers_of_its_json(aqmlab: Command, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text('users.per_side = 30\nlink.rate = "2 Mbit/s"\nprotocol = { warmup = "1 s", duration = "5 s" }\n')
    record = json.loads(aqmlab("run", str(spec), "--json", "--table", "run.csv").out)
    values = {row["measure"]: row["value"] for row in pl.read_csv("run.csv").to_dicts()}
    assert values["p95"] == pytest.approx(record["response_time_ms"]["p95"])
    assert values["throughput reverse"] == pytest.approx(record["directions"][1]["throughput_mbps"])


def test_the_table_of_a_design_has_the_margins_of_its_loop(aqmlab: Command) -> None:
    command = ("design", "pi", "--rate", "10 Mbit/s", "--flows", "40", "--rtt-max", "200 ms", "--table", "pi.csv")
    record = json.loads(aqmlab(*command, "--json").out)
    values = {row["name"]: row["value"] for row in pl.read_csv("pi.csv").to_dicts()}
    assert values["phase margin"] == pytest.approx(record["margins"]["phase_margin_deg"])
    assert values["a"] == pytest.approx(next(each["value"] for each in record["parameters"] if each["name"] == "a"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--table", "table.xlsx"), "--table: must end in .csv, .md, .tex or .parquet, got table.xlsx"),
        (("--table", "nowhere/table.csv"), "--table: must be a file that can be written"),
        (("--sd",), "--sd: adds a column to --table, which is not given"),
    ],
)
def test_a_table_that_cannot_be_is_refused_first(arguments: tuple[str, ...], message: str, aqmlab: Command) -> None:
    outcome = aqmlab("compare", "codel", *FAST, *arguments)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err
    assert not Path("nowhere").exists()
    assert not Path("results").exists()
