"""A cell that is not as it was written is noticed, set aside, and run again."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.running.run import run_cell
from aqmlab.storage.errors import Damaged
from aqmlab.store.store import Store
from conftest import Command

FILES = (
    "spec.json",
    "metadata.json",
    "summary.parquet",
    "queue.parquet",
    "link.parquet",
    "response_times.parquet",
    "exchanges.parquet",
    "losses.parquet",
)


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path) -> None:
    os.truncate(file, 0)


def replace_by_another(file: Path) -> None:
    file.write_bytes(b"of something else\n")


def replace_by_one_as_long(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def replace_by_a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def remove(file: Path) -> None:
    file.unlink()


DAMAGES = (truncate, empty, replace_by_another, replace_by_one_as_long, replace_by_a_directory, remove)


@pytest.fixture(scope="module")
def recorded() -> Cell:
    """A cell with all tables, and few rows."""
    experiment = lab.Experiment(
        link={"rate": "2 Mbit/s"},
        users={"per_side": 100},
        protocol={"warmup": "1 s", "duration": "5 s"},
        record={"exchanges": True, "losses": True},
    )
    return cells_of(experiment, [1])[0]


@pytest.fixture(scope="module")
def whole(recorded: Cell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results directory with that cell."""
    out = tmp_path_factory.mktemp("whole")
    run_cell(recorded, Store(out))
    return out


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(whole, tmp_path / "results")


def contents(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.glob("*.parquet")}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cell_is_set_aside_and_run_again(
    recorded: Cell, out: Path, whole: Path, caplog: pytest.LogCaptureFixture, name: str, damage: Callable[[Path], None]
) -> None:
    file = out / "cells" / recorded.key / name
    damage(file)
    result = run_cell(recorded, Store(out))
    assert contents(result.directory) == contents(whole / "cells" / recorded.key)
    quarantine = out / "damaged" / recorded.key
    assert [path.name for path in quarantine.parent.iterdir()] == [recorded.key]
    (line,) = caplog.messages
    assert line.startswith(f"{file} is damaged: ")
    assert line.endswith(f"; the cell is set aside as {quarantine} and run again")


@pytest.mark.parametrize("content", ["[]", "{}", '{"files": []}', '{"files": {"spec.json": 1}}', '{"files": null}'])
def test_metadata_of_something_else_are_damage(recorded: Cell, out: Path, content: str) -> None:
    (out / "cells" / recorded.key / "metadata.json").write_text(content)
    assert Store(out).get(recorded) is None
    run_cell(recorded, Store(out))
    assert (out / "damaged" / recorded.key / "metadata.json").read_text() == content


def test_a_damaged_cell_stays_in_its_place_when_it_is_read(
    recorded: Cell, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    truncate(out / "cells" / recorded.key / "summary.parquet")
    store = Store(out)
    assert store.cells().is_empty()
    assert store.find([recorded]) == {}
    assert store.get_by_key(recorded.key) is None
    assert not (out / "damaged").exists()
    assert all(line.endswith("; the cell is left out") for line in caplog.messages)
    assert len(caplog.messages) == 2


def test_a_file_where_the_cell_should_be_is_set_aside(recorded: Cell, out: Path) -> None:
    directory = out / "cells" / recorded.key
    shutil.rmtree(directory)
    directory.write_text("no cell")
    assert run_cell(recorded, Store(out)).directory == directory
    assert (out / "damaged" / recorded.key).read_text() == "no cell"


def test_another_cell_in_the_place_of_one_is_damage(
    recorded: Cell, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other_cell = cells_of(lab.Experiment(users={"per_side": 1}), [1])[0]
    shutil.copytree(out / "cells" / recorded.key, out / "cells" / other_cell.key)
    assert Store(out).find([other_cell]) == {}
    assert "is another cell's" in caplog.text


def test_what_is_damaged_a_second_time_is_kept_beside_the_first(recorded: Cell, out: Path) -> None:
    for _ in range(3):
        empty(out / "cells" / recorded.key / "queue.parquet")
        run_cell(recorded, Store(out))
    quarantined = sorted(path.name for path in (out / "damaged").iterdir())
    assert quarantined == [recorded.key, f"{recorded.key}-2", f"{recorded.key}-3"]


def test_a_whole_cell_is_not_run_again_nor_set_aside(recorded: Cell, out: Path) -> None:
    before = (out / "cells" / recorded.key / "metadata.json").read_bytes()
    run_cell(recorded, Store(out))
    assert (out / "cells" / recorded.key / "metadata.json").read_bytes() == before
    assert not (out / "damaged").exists()


def test_a_large_table_is_checked_when_it_is_read(recorded: Cell, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aqmlab.storage.integrity._MAX_CHECKED_BYTES", 0)
    file = out / "cells" / recorded.key / "queue.parquet"
    replace_by_one_as_long(file)
    result = Store(out).get(recorded)
    assert result is not None
    assert result.link.height > 0
    with pytest.raises(Damaged) as damage:
        _ = result.queue
    assert str(damage.value) == (
        f"{file} is damaged: its checksum is not that of what was written; remove {file.parent} and run it again"
    )


def test_the_length_of_a_large_table_is_looked_at_before(
    recorded: Cell, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aqmlab.storage.integrity._MAX_CHECKED_BYTES", 0)
    truncate(out / "cells" / recorded.key / "queue.parquet")
    assert Store(out).get(recorded) is None


def test_a_damaged_cell_is_left_out_where_all_are_read(
    recorded: Cell, small_cell: Cell, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(out)
    run_cell(small_cell, store)
    truncate(out / "cells" / recorded.key / "queue.parquet")
    assert store.cells()["cell"].to_list() == [small_cell.key]
    assert set(store.scan("queue").collect()["cell"]) == {small_cell.key}
    assert all(line.endswith("; the cell is left out") for line in caplog.messages)
    assert len(caplog.messages) == 2


def test_the_command_line_reports_a_rerun_cell_in_one_line(
    aqmlab: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spec.toml").write_text("[users]\nper_side = 5\n[protocol]\nwarmup = '0 s'\nduration = '1 s'\n")
    first = json.loads(aqmlab("run", "spec.toml", "--json").out)
    caplog.set_level(logging.WARNING)
    caplog.clear()
    truncate(tmp_path / first["cell"] / "summary.parquet")
    rerun = aqmlab("run", "spec.toml", "--json")
    assert rerun.code == 0
    assert json.loads(rerun.out)["completed_requests"] == first["completed_requests"]
    messages = [line for line in (*caplog.messages, *rerun.err.splitlines()) if "damaged" in line]
    assert len(messages) == 1


@pytest.mark.parametrize("name", [name for name in FILES if name != "metadata.json"])
def test_a_damaged_cell_is_not_explained_and_the_file_is_named(
    aqmlab: Command, recorded: Cell, out: Path, name: str
) -> None:
    file = out / "cells" / recorded.key / name
    truncate(file)
    outcome = aqmlab("explain", str(file.parent))
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"aqmlab: cell: {file} is damaged: ")
    assert line.endswith("; run its experiment again")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "Invalid JSON: EOF"),
        ('[{"workload": "unc-2001"', "Invalid JSON: EOF"),
        ("{}", "Input should be a valid array"),
        ('[{"workload": 3}]', "0.workload: Input should be a valid string"),
        ("\x00\x01", "Invalid JSON"),
    ],
)
def test_a_damaged_calibration_is_refused_with_its_file_and_kept(
    aqmlab: Command, tmp_path: Path, content: str, reason: str
) -> None:
    file = tmp_path / "results" / "calibration.json"
    file.parent.mkdir()
    file.write_text(content)
    for command in (["compare", "pi"], ["calibrate"]):
        outcome = aqmlab(*command)
        assert (outcome.code, outcome.out) == (2, "")
        (line,) = outcome.err.splitlines()
        assert line.startswith("aqmlab: results/calibration.json: must be what aqmlab calibrate wrote; mend it, or ")
        assert reason in line
    assert file.read_text() == content


def test_a_calibration_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = next(iter(calibration_model.load_calibrations().values()))
    file = calibration_model.store(line, tmp_path)
    before = file.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(lab.StoreError, match=r"calibration\.json: cannot be written: No space left on device$"):
        calibration_model.store(line.model_copy(update={"mbps_per_user": 1.0}), tmp_path)
    assert file.read_bytes() == before
