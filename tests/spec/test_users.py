"""Tables of the user's own for what web users do and how far away their servers are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab import _core
from aqmlab.calibration import measure as calibrate
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import Cell
from aqmlab.running.run import run_cell
from aqmlab.spec import users
from aqmlab.store.store import Store
from conftest import Command

NEAR: dict[str, Any] = {"source": "here", "distribution": {"uniform_ms": {"min": 5, "max": 9}}}
NEAR_TOML = 'source = "here"\n[distribution.uniform_ms]\nmin = 5\nmax = 9\n'
SHORT = ("--warmup", "1 s", "--duration", "4 s")


def _workload() -> dict[str, Any]:
    """The shipped table, as a user may start from it."""
    spec = lab.Experiment(users={"per_side": 1})
    table: dict[str, Any] = json.loads(_core.Resolved(spec.to_json()).json)["users"]["workload"]
    return table


def test_a_table_is_the_same_inline_in_toml_and_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("near.toml").write_text(NEAR_TOML)
    Path("near.json").write_text(json.dumps(NEAR))
    Path("spec.toml").write_text('[users]\nper_side = 5\nrtt = "near.toml"\n')
    inline = lab.Experiment(users={"per_side": 5, "rtt": NEAR})
    by_file = [lab.Experiment(users={"per_side": 5, "rtt": file}) for file in ("near.toml", "near.json")]
    monkeypatch.chdir("/")
    read = lab.Experiment.from_toml(tmp_path / "spec.toml")
    assert inline == by_file[0] == by_file[1] == read
    assert inline.users.names[0] == "unc-2001-v3"
    assert re.fullmatch(r"here-[0-9a-f]{8}", inline.users.names[1])


def test_the_name_of_a_table_is_what_it_says_and_not_how() -> None:
    name = users.names("unc-2001", NEAR)
    assert users.names("unc-2001", dict(reversed(NEAR.items()))) == name
    farther = {**NEAR, "distribution": {"uniform_ms": {"min": 5, "max": 10}}}
    assert users.names("unc-2001", farther) != name


def test_users_follow_a_table_of_their_own(tmp_path: Path) -> None:
    def requests(**table: Any) -> int:
        experiment = lab.Experiment(users={"per_side": 30, **table}, protocol={"warmup": "1 s", "duration": "20 s"})
        return int(lab.run(experiment, out=tmp_path).summary["completed_requests"])

    impatient = _workload()
    impatient["think_seconds"]["nodes"] = [[0.0, 0.1], [0.5, 0.2]]
    assert requests(workload=_workload()) == requests(), "the shipped table under another name"
    assert requests(workload=impatient) > 5 * requests()
    result = lab.run(lab.Experiment(users={"per_side": 3, "rtt": NEAR}, protocol={"duration": "1 s"}), out=tmp_path)
    assert result.cell.rtt == users.names("unc-2001", NEAR)[1]


@pytest.mark.parametrize(
    ("rtt", "message"),
    [
        pytest.param("missing.toml", r"users\.rtt: missing\.toml: cannot be read: No such file", id="no file"),
        pytest.param("broken.toml", r"users\.rtt: broken\.toml: invalid TOML: ", id="no TOML"),
        pytest.param("broken.json", r"users\.rtt: broken\.json: invalid JSON: ", id="no JSON"),
        pytest.param("list.json", r"users\.rtt: list\.json must hold a table, got list", id="no table"),
        pytest.param(
            {"source": "", "distributon": {}},
            r"users\.rtt\.distributon: unknown key .did you mean `distribution`.*; allowed are source, distribution",
            id="a misspelt key",
        ),
        pytest.param({"source": ""}, r"users\.rtt: must have `distribution`, which is missing", id="a missing key"),
        pytest.param(
            {"source": "", "distribution": {"uniform_ms": {"min": 9, "max": 5}}},
            r"users\.rtt\.distribution\.uniform_ms: must have min <= max",
            id="a range that is none",
        ),
        pytest.param(
            {"source": "", "distribution": {"quantiles_ms": [[0, "far"]]}},
            r"users\.rtt\.distribution\.quantiles_ms.*: must be a number, got \"far\"",
            id="a text for a number",
        ),
        pytest.param(
            {"source": "", "distribution": {"quantiles_ms": [[0.0, float("nan")]]}},
            r"users\.rtt\.distribution\.quantiles_ms\[0\]\[1\]: must be a finite number, got nan",
            id="no number",
        ),
        pytest.param("unifrom", r"users\.rtt: unknown `unifrom`.*: choose uniform, general", id="a misspelt name"),
        pytest.param("5 ms", r"users\.rtt: unknown `5 ms`: choose uniform, .*, or write a table", id="a time"),
    ],
)
@pytest.mark.parametrize("load", [{"per_side": 5}, {"load": 50}], ids=["by number", "by load"])
def test_a_table_that_is_none_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rtt: object, message: str, load: dict[str, int]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text("source = ")
    Path("broken.json").write_text("{")
    Path("list.json").write_text("[1]")
    with pytest.raises(lab.SpecError, match=rf"^{message}") as error:
        lab.run(lab.Experiment(users={**load, "rtt": rtt}), out=tmp_path)
    assert len(str(error.value).splitlines()) == 1


def test_a_misspelt_workload_is_not_called_uncalibrated(tmp_path: Path) -> None:
    with pytest.raises(lab.SpecError, match=r"^users\.workload: unknown `unc-3000`: choose unc-2001"):
        lab.run(lab.Experiment(users={"workload": "unc-3000"}), out=tmp_path)


def test_a_load_that_makes_no_user_is_refused_as_that(tmp_path: Path) -> None:
    message = r"^users\.load: makes no user: one on each side is 0\.0\d+ % of 100 Mbit/s, got 0\.0001$"
    with pytest.raises(lab.SpecError, match=message):
        lab.run(lab.Experiment(users={"load": 0.0001}), out=tmp_path)


def test_a_load_of_custom_users_needs_and_uses_a_calibration(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "near.toml").write_text(NEAR_TOML)
    outcome = aqmlab("compare", "--load", "1", "--rtt", "near.toml", *SHORT, "--seeds", "1", "pi")
    assert outcome.code == 2
    command = "aqmlab calibrate --workload unc-2001-v3 --rtt FILE, where FILE holds the table"
    assert f"no calibration: run {command}" in outcome.err
    measured = aqmlab("calibrate", "--rtt", "near.toml", "--most-users", "250", *SHORT, "--json")
    assert measured.code == 0, measured.err
    line = json.loads(measured.out)
    assert line["users_per_side"] == [50, 100, 150, 200, 250]
    name = users.names("unc-2001-v3", NEAR)
    assert (line["workload"], line["rtt"]) == name
    assert (*name, 2) in calibration_model.load_calibrations(tmp_path / "results")
    compared = json.loads(
        aqmlab("compare", "--load", "1", "--rtt", "near.toml", *SHORT, "--seeds", "1", "--json", "pi").out
    )
    expected = round(0.01 * 100 / line["mbps_per_user"])
    assert [cell["users_per_side"] for cell in compared["cells"]] == [expected] * 2


def test_calibrating_on_a_network_that_limits_users_is_refused(small_cell: Cell, store: Store) -> None:
    full = run_cell(small_cell, store)
    assert full.summary["utilisation"] > calibrate.MAX_UTILISATION
    with pytest.raises(lab.SpecError, match=r"^users: 400 on each side used 9\d.* % of the link: .* at most 90 %$"):
        calibrate.fit_calibration(lab.Experiment(), [full])
