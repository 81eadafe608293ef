from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from aqmlab.disciplines import table
from aqmlab.disciplines.catalogue import Discipline, Parameter, disciplines
from aqmlab.ui import console
from conftest import Command

SMALL = """
[link]
rate = "2 Mbit/s"
[queue.pi]
q_ref = 10
[users]
per_side = 400
[protocol]
warmup = "5 s"
duration = "65 s"
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return str(file)


SHORT = ("--users", "20", "--warmup", "1 s", "--duration", "2 s", "--seeds", "2")


def test_compare_prints_a_table_and_draws_the_response_times(aqmlab: Command, tmp_path: Path) -> None:
    outcome = aqmlab("compare", *SHORT, "droptail:limit=240", "pi:q_ref=24,ecn=true")
    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    schemes = ["uncongested", "droptail:limit=240", "pi:q_ref=24,ecn=true"]
    rows = [
        line.split()[0]
        for line in outcome.out.splitlines()
        if line.startswith(tuple(f"{scheme}  " for scheme in schemes))
    ]
    tables = 6  # the link, delays, all packets, response times, and the limits of the connections in two parts
    assert rows == schemes * tables
    assert "±" in outcome.out
    figures = outcome.out.split()[-4:]
    suffix = r"_droptail-limit=240_pi-q_ref=24-ecn=true_0.212-percent_[0-9a-f]{8}"
    for figure, name in zip(figures, ("cdf.svg", "cdf.png", "ccdf.svg", "ccdf.png"), strict=True):
        stem, _, kind = name.partition(".")
        assert re.fullmatch(rf"results/figures/response-times-{stem}{suffix}\.{kind}", figure)
    assert all((tmp_path / figure).stat().st_size > 0 for figure in figures)


HOME_LINK = str(Path(__file__).parents[2] / "examples" / "home-link.toml")


def test_compare_takes_any_spec_and_only_given_options_change_it(aqmlab: Command) -> None:
    short = ("--seeds", "4-5", "--set", "protocol.duration=5 s", "--json")
    cells = json.loads(aqmlab("compare", HOME_LINK, "fq_codel", "droptail", "--warmup", "1 s", *short).out)["cells"]
    assert [(cell["label"], cell["seed"]) for cell in cells] == [
        ("fq_codel", 4),
        ("fq_codel", 5),
        ("droptail", 4),
        ("droptail", 5),
    ]
    assert {cell["users_per_side"] for cell in cells} == {100}
    assert [source["name"] for source in cells[0]["sources"]] == ["video", "upload"]
    spec = json.loads((Path(cells[0]["cell"]) / "spec.json").read_text())
    assert spec["protocol"] == {"warmup": "1 s", "duration": "5 s"}
    assert spec["link"]["rate"] == "20 Mbit/s"
    changed = aqmlab("compare", "pi", HOME_LINK, "--users", "7", "--set", "sources[0].on_off.flows=1", *short).out
    cell = json.loads(changed)["cells"][0]
    assert (cell["label"], cell["users_per_side"]) == ("pi", 7)
    assert json.loads((Path(cell["cell"]) / "spec.json").read_text())["sources"][0]["on_off"]["flows"] == 1


def test_compare_shows_the_delay_of_each_class_of_traffic(aqmlab: Command) -> None:
    schemes = ("fq_codel", "codel", "pie", "droptail")
    short = ("--seeds", "1", "--warmup", "2 s", "--duration", "6 s", "--no-figures")
    outcome = aqmlab("compare", HOME_LINK, *schemes, *short)
    assert outcome.code == 0
    _, _, rest = outcome.out.partition("Delay in the queue, ms\n")
    delays, _, rest = rest.partition("\n\n")
    rows = [line.split() for line in delays.splitlines()[2:]]
    kinds = ("all packets", "web users", "video", "upload")
    traffic = [f"{kind} {direction}" for kind in kinds for direction in ("forward", "reverse")]
    first = [" ".join(word for word in row if not word[0].isdigit()) for row in rows]
    assert first == [label if n else f"{scheme} {label}" for scheme in schemes for n, label in enumerate(traffic)]
    assert all(sum(word[0].isdigit() for word in row) >= 4 for row in rows), "mean, p50, p99 and p99.9"
    assert "upload takes any capacity" in rest


def test_compare_prints_one_json_object(aqmlab: Command) -> None:
    outcome = aqmlab("compare", *SHORT, "--json", "red:w_q=1/512")
    comparison = json.loads(outcome.out)
    assert comparison.keys() == {"cells", "schemes", "checks"}
    assert [cell["label"] for cell in comparison["cells"]] == ["uncongested"] * 2 + ["red:w_q=1/512"] * 2
    assert comparison["schemes"][1]["parameters"]["w_q"] == 1 / 512


def test_round_trips_are_a_table_a_time_or_a_range(aqmlab: Command) -> None:
    for text, bounds in (("20 ms", (20, 20)), ("10..80 ms", (10, 80)), ("uniform", (10, 150))):
        outcome = aqmlab("compare", *SHORT, "--rtt", text, "--no-figures", "--json", "pi")
        (path, *_) = (cell["cell"] for cell in json.loads(outcome.out)["cells"])
        distribution = json.loads(Path(path, "spec.json").read_text())["users"]["rtt"]["distribution"]
        assert tuple(distribution["uniform_ms"].values()) == bounds
    assert "rtt: must be as '20 ms' or '10..80 ms'" in aqmlab("compare", "--rtt", "20 ms..", "pi").err


def test_a_load_gives_the_users_of_the_calibration(aqmlab: Command) -> None:
    outcome = aqmlab("compare", "--load", "1", "--duration", "1 s", "--warmup", "1 s", "--seeds", "1", "--json", "pi")
    for cell in json.loads(outcome.out)["cells"]:
        assert cell["load_percent"] == 1
        assert cell["users_per_side"] == pytest.approx(95.2, abs=3)


def test_run_prints_its_result_in_words_or_as_json(aqmlab: Command, spec: str) -> None:
    words = aqmlab("run", spec, "--seed", "3")
    assert words.code == 0
    assert words.out.startswith("pi:q_ref=10 at ")
    assert "seed 3" in words.out
    record = json.loads(aqmlab("run", spec, "--seed", "3", "--json").out)
    assert record["seed"] == 3
    assert record["scheme"] == "pi"
    changed = json.loads(aqmlab("run", spec, "--set", "queue.pi.q_ref=20", "--json").out)
    assert changed["parameters"]["q_ref"] == 20
    assert changed["cell"] != record["cell"]


def test_record_exchanges_keeps_a_row_for_each_request(aqmlab: Command, tmp_path: Path) -> None:
    cells = json.loads(aqmlab("compare", *SHORT, "--record", "exchanges", "--json", "pi").out)["cells"]
    assert all((tmp_path / cell["cell"] / "exchanges.parquet").is_file() for cell in cells)


def test_calibrate_stores_its_line_for_later_runs(aqmlab: Command) -> None:
    measured = aqmlab("calibrate", "--most-users", "400", "--warmup", "20 s", "--duration", "60 s", "--json")
    report = json.loads(measured.out)
    assert report["users_per_side"] == [80, 160, 240, 320, 400]
    assert report["users"].keys() == {"80", "90", "98", "100", "105"}
    assert report["published"] == 9520
    later = json.loads(aqmlab("compare", "--load", "1", *SHORT[2:], "--json", "pi").out)
    assert later["cells"][0]["users_per_side"] == round(0.01 * 100 / report["mbps_per_user"])


def test_users_of_today_are_calibrated_with_hosts_of_today(aqmlab: Command, tmp_path: Path) -> None:
    brief = ("--most-users", "5", "--warmup", "0 s", "--duration", "20 s", "--quiet", "--json")
    profiles = {}
    for workload in ("unc-2001", "web-2024"):
        out = tmp_path / workload
        report = json.loads(aqmlab("calibrate", "--workload", workload, *brief, "--out", str(out)).out)
        assert (report["published"] is None) == (workload == "web-2024")
        specs = [json.loads(file.read_text()) for file in out.glob("cells/*/spec.json")]
        profiles[workload] = {spec["tcp"]["profile"] for spec in specs}
    assert profiles == {"unc-2001": {"unc-testbed"}, "web-2024": {"linux-6"}}


def test_users_who_are_not_answered_make_no_calibration(aqmlab: Command, tmp_path: Path) -> None:
    outcome = aqmlab("calibrate", "--most-users", "5", "--warmup", "0 s", "--duration", "1 ms", "--quiet")
    assert outcome.code == 2
    assert outcome.err == "aqmlab: protocol.duration: must be long enough for users to be answered, got 1 ms\n"
    assert not (tmp_path / "results" / "calibration.json").exists()


def test_aqm_list_tells_what_there_is(aqmlab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    entries = json.loads(aqmlab("aqm", "list", "--json").out)
    assert [entry["name"] for entry in entries] == list(disciplines())
    output = aqmlab("aqm", "list").out
    for entry in entries:
        assert list(entry) == ["name", "family", "decides_at", "summary", "parameters", "classes", "ecn", "tc"]
        assert f"\n {entry['name']} " in output
        assert entry["summary"] in output


@pytest.mark.parametrize("name", disciplines())
def test_aqm_show_tells_the_whole_page_and_every_parameter(
    aqmlab: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    entry = disciplines()[name]
    output = aqmlab("aqm", "show", name).out
    assert entry.page in output
    for parameter in entry.parameters:
        (row,) = [line for line in output.splitlines() if line.split()[:1] == [parameter.name]][-1:]
        for text in (parameter.unit, parameter.default, parameter.meaning, parameter.source):
            assert text in row
    record = json.loads(aqmlab("aqm", "show", name, "--json").out)
    assert record == json.loads(json.dumps(asdict(entry)))


def test_a_bracket_in_a_text_is_shown_as_it_is() -> None:
    odd = Parameter(name="x", unit="[packets]", default="[1]", meaning="in [p, q]", source="[1]")
    entry = Discipline(
        name="odd", family="odd", decides_at="enqueue", summary="Draws from [min, max]", parameters=(odd,), page=""
    )
    output = console.render_text(table.parameters(entry))
    for text in ("[packets]", "[1]", "in [p, q]", "odd: Draws from [min, max]"):
        assert text in output
    assert "Draws from [min, max]" in console.render_text(table.disciplines([entry]))


def test_aqm_show_sets_its_page_for_a_terminal(monkeypatch: pytest.MonkeyPatch, aqmlab: Command) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    output = aqmlab("aqm", "show", "pi").out
    assert "\x1b[" in output
    assert disciplines()["pi"].page not in output, "it is set, not printed as it is written"
    assert "sampling_hz" in output


PI = ("design", "pi", "--rate", "100 Mbit/s", "--flows", "400", "--rtt-max", "200 ms")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["compare", "green"], "'green'", id="unknown scheme"),
        pytest.param(["compare", "pi:qref=24"], "'qref'", id="unknown key"),
        pytest.param(["compare", "pi:q_ref=-1"], "queue.pi.q_ref", id="out of range"),
        pytest.param(["compare", "red:min_th=12,max_th=8"], "queue.red.max_th", id="inconsistent"),
        pytest.param(["compare", "--duration", "90", "pi"], "protocol.duration", id="no unit"),
        pytest.param(["compare", "--duration", "90 Mbit/s", "pi"], "protocol.duration", id="wrong unit"),
        pytest.param(["compare", "--duration", "0 s", "pi"], "protocol.duration", id="zero duration"),
        pytest.param(["compare", "--warmup", "-1 s", "pi"], "protocol.warmup", id="negative warm-up"),
        pytest.param(["compare", "--duration", "1000000 h", "pi"], "protocol.duration", id="absurd duration"),
        pytest.param(["compare", "--users", "0", "pi"], "users.per_side", id="zero users"),
        pytest.param(["compare", "--users", "1000000000", "pi"], "users.per_side", id="absurd number of users"),
        pytest.param(["compare", "--users", "-5", "pi"], "users.per_side", id="negative users"),
        pytest.param(["compare", "--load", "0", "pi"], "users.load", id="zero load"),
        pytest.param(["compare", "--load", "nan", "pi"], "users.load", id="load that is no number"),
        pytest.param(["compare", "--load", "high", "pi"], "--load", id="load that is a word"),
        pytest.param(["compare", "--load", "98", "--users", "9330", "pi"], "--load", id="load and users"),
        pytest.param(["compare", "--rtt", "uniforms", "pi"], "uniforms", id="unknown round-trip times"),
        pytest.param(["compare", "--seeds", "0", "pi"], "--seeds", id="zero seeds"),
        pytest.param(["compare", "--seeds", "1000000000", "pi"], "--seeds", id="absurd number of seeds"),
        pytest.param(["compare", "--workers", "0", "pi"], "--workers", id="zero workers"),
        pytest.param(["compare", "--record", "everything", "pi"], "everything", id="unknown table"),
        pytest.param(["compare", "--out", "file/results", "pi"], "file/results", id="unwritable directory"),
        pytest.param(["compare", "--out", "file", "pi"], "file", id="directory that is a file"),
        pytest.param(["compare"], "SCHEME", id="no scheme"),
        pytest.param(["compare", "some.toml"], "schemes: must be one at least", id="a spec and no scheme"),
        pytest.param(["compare", "missing.toml", "pi"], "missing.toml: cannot be read", id="a spec that is not there"),
        pytest.param(["compare", "some.toml", "a.toml", "pi"], "SPEC.toml: write at most one", id="two specs"),
        pytest.param(["compare", "pi", "--seeds", "6-4"], "--seeds", id="seeds that run backwards"),
        pytest.param(["compare", "pi", "--seeds", "1-2000"], "--seeds", id="too many seeds"),
        pytest.param(["compare", "--lod", "98", "pi"], "--lod", id="unknown option"),
        pytest.param(["run", "missing.toml"], "missing.toml", id="missing file"),
        pytest.param(["run", "."], ".: cannot be read", id="file that is a directory"),
        pytest.param(["run", "file"], "file: invalid TOML", id="file that is no TOML"),
        pytest.param(["run", "some.toml", "--seed", "1" + 30 * "0"], "seed: must be", id="absurd seed"),
        pytest.param(["run", "some.toml", "--seed", "-1", "--watch"], "seed: must be", id="seed below zero"),
        pytest.param(["run", "some.toml", "--set", "load=9"], "'users.load'", id="change without a path"),
        pytest.param(["run", "some.toml", "--set", "users.lod=9"], "users.lod", id="change of an unknown key"),
        pytest.param(["calibrate", "--rtt", "short"], "short", id="calibration of unknown RTTs"),
        pytest.param(["aqm", "show", "green"], "'green'", id="showing an unknown scheme"),
        pytest.param(["design", "green"], "green", id="designing an unknown scheme"),
        pytest.param(["design", "ared"], "--rate", id="design without a rate"),
        pytest.param(["design", "ared", "--rate", "100"], "--rate", id="design for a rate without a unit"),
        pytest.param(["design", "ared", "--rate", "5 ms"], "--rate", id="design for a rate of the wrong unit"),
        pytest.param(["design", "ared", "--rate", "9" * 400 + " Gbit/s"], "--rate", id="design for an endless rate"),
        pytest.param(["design", "dualpi2", "--rtt-max", "1e300 s"], "--rtt-max", id="time with an exponent"),
        pytest.param(["design", "dualpi2", "--rtt-max", "0 s"], "rtt_max", id="design for no round trip"),
        pytest.param(["design", "dualpi2", "--target", "-1 ms"], "--target", id="design for a negative delay"),
        pytest.param([*PI, "--flows", "-1"], "flows", id="design for negative flows"),
        pytest.param([*PI, "--flows", "many"], "--flows", id="design for flows that are a word"),
        pytest.param([*PI, "--crossover", "99"], "crossover", id="design that would oscillate"),
        pytest.param([*PI, "--mean-packet", "0 B"], "mean_packet", id="design for packets of nothing"),
        pytest.param([*PI, "--figure", "loop.doc"], "loop.doc", id="figure of an unknown kind"),
        pytest.param([*PI, "--figure", "file/loop.svg"], "file/loop.svg", id="figure that cannot be written"),
        pytest.param(["bench"], "bench", id="unknown command"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    aqmlab: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "file").write_text("no TOML")
    (tmp_path / "some.toml").write_text("users.load = 80")
    outcome = aqmlab(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    (line,) = outcome.err.splitlines()
    assert line.startswith("aqmlab: ")
    assert message in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "some.toml"], "nothing is written"


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_no_half_cell(tmp_path: Path, by: signal.Signals) -> None:
    command = [sys.executable, "-m", "aqmlab", "compare", "--users", "9330", "--workers", "2", "pi", "rem"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ})
    cells, drafts = (tmp_path / "results" / name for name in ("cells", "drafts"))
    while not list(drafts.glob("*/*/")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(by)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert list(cells.iterdir()) == []
    assert list(drafts.glob("*/")) == []
