"""The marker that tells stores from other directories: only stores are written to."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

import aqmlab as lab
from aqmlab.campaigns.failures import Failure, Failures
from aqmlab.cells import calibration_model
from aqmlab.cells.cell import Cell
from aqmlab.console.forms import toml_input
from aqmlab.running.run import run_cell
from aqmlab.storage import marker
from aqmlab.storage.location import location
from aqmlab.store.store import Store
from conftest import Command

SPEC = "[users]\nper_side = 5\n[protocol]\nwarmup = '0 s'\nduration = '1 s'\n"


def files(directory: Path) -> list[str]:
    return sorted(str(file.relative_to(directory)) for file in directory.rglob("*"))


@pytest.fixture
def thesis(tmp_path: Path) -> Path:
    """A directory of somebody who calls folders as a store does."""
    for name in ("drafts/chapter1", "drafts/0123456789abcdef-x7k2p0qz", "cells/.git", "cells/biology", "damaged/old"):
        (folder := tmp_path / "results" / name).mkdir(parents=True)
        (folder / "text").write_text("years of work")
    return tmp_path / "results"


READ = [
    ["ls", "results"],
    ["ls", "results", "--json"],
    ["rm", "results", "--scheme", "pi", "--yes"],
    ["report", "results"],
    ["report", "--out", "results"],
    ["console", "results"],
    ["explain", "results/cells/biology"],
]
WRITE = [
    ["run", "spec.toml"],
    ["compare", "pi", "--users", "5", "--warmup", "0 s", "--duration", "1 s", "--seeds", "1"],
    ["sweep", "grid.toml", "--seeds", "1"],
    ["calibrate", "--most-users", "5", "--warmup", "0 s", "--duration", "1 s"],
]


@pytest.mark.parametrize("command", [*READ, *WRITE], ids=" ".join)
def test_no_command_touches_the_directory_of_somebody_else(
    aqmlab: Command, tmp_path: Path, thesis: Path, command: list[str]
) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "grid.toml").write_text("set = ['users.per_side=5']\nschemes = ['pi']\n")
    before = files(thesis)
    outcome = aqmlab(*command)
    assert (outcome.code, outcome.out) == (2, "")
    assert files(thesis) == before
    line = outcome.err.splitlines()[-1]
    if command in WRITE:
        assert line == (
            "aqmlab: out: results has files of others and is no store (it has no aqmlab-store.json): choose another"
            " directory, or make this one a store with: aqmlab init results"
        )
    elif command[0] != "explain":
        assert "must be a results directory, got results" in line


def test_python_touches_no_directory_of_somebody_else(thesis: Path, small_cell: Cell) -> None:
    before = files(thesis)
    store = Store(thesis)
    assert store.get(small_cell) is None
    failure = Failure(cell=small_cell.key, label="pi", seed=1, error="none", at="now")
    writes: list[Callable[[], object]] = [
        lambda: run_cell(small_cell, store),
        lambda: store.remove("0123456789abcdef"),
        lambda: Failures(thesis).add(failure),
        lambda: calibration_model.store(next(iter(calibration_model.load_calibrations().values())), thesis),
        lambda: toml_input.store_text("", thesis, "spec"),
        lambda: marker.folder_for_users(thesis, "figures"),
    ]
    for write in writes:
        with pytest.raises(lab.SpecError, match="has files of others and is no store"):
            write()
    assert files(thesis) == before


def test_a_directory_turned_into_a_store_keeps_its_files(aqmlab: Command, thesis: Path, small_cell: Cell) -> None:
    before = files(thesis)
    assert aqmlab("init", "results").out == "results/aqmlab-store.json\n"
    assert aqmlab("init", "results").code == 0, "a second time changes nothing"
    run_cell(small_cell, Store(thesis))
    new = [name for name in files(thesis) if name not in before]
    assert {name.partition("/")[0] for name in new} == {"aqmlab-store.json", "cells", "index"}
    assert {*before} < {*files(thesis)}
    assert Store(thesis).cells()["cell"].to_list() == [small_cell.key]


def test_cells_without_a_marker_are_read_and_not_added_to(
    aqmlab: Command, store: Store, small_cell: Cell, another_cell: Cell
) -> None:
    result = run_cell(small_cell, store)
    (store.out / marker.NAME).unlink()
    assert Store(store.out).cells().height == 1
    assert run_cell(small_cell, Store(store.out)).metadata == result.metadata
    with pytest.raises(lab.SpecError, match="aqmlab init"):
        run_cell(another_cell, Store(store.out))
    assert aqmlab("init").code == 0
    run_cell(another_cell, store)


def test_a_directory_with_hidden_files_alone_is_empty(tmp_path: Path, small_cell: Cell) -> None:
    (tmp_path / ".gitignore").write_text("*")
    run_cell(small_cell, Store(tmp_path))
    assert (tmp_path / ".gitignore").read_text() == "*"


@pytest.mark.parametrize("folder", marker.FOLDERS)
def test_a_link_in_place_of_a_folder_is_not_followed_by_writers(tmp_path: Path, small_cell: Cell, folder: str) -> None:
    home, out = tmp_path / "home", tmp_path / "store"
    (home / ".ssh").mkdir(parents=True)
    place = home / "0123456789abcdef-x7k2p0qz"
    place.mkdir()
    (place / "alive").touch()
    out.mkdir()
    (out / folder).symlink_to("../home")
    Store(out).init()
    before = files(home)
    Store(out).cells()
    pattern = f"^out: {out / folder} must be a directory to be written to, and is a symbolic link$"
    with pytest.raises(lab.SpecError, match=pattern):
        run_cell(small_cell, Store(out))
    with pytest.raises(lab.SpecError, match=pattern):
        Store(out).remove("0123456789abcdef")
    assert files(home) == before


def test_a_store_behind_a_link_that_the_user_typed_is_a_store(tmp_path: Path, small_cell: Cell) -> None:
    (tmp_path / "large disk").mkdir()
    (tmp_path / "results").symlink_to("large disk")
    run_cell(small_cell, Store(tmp_path / "results"))
    assert Store(tmp_path / "large disk").cells().height == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [('{"format": 99}', "of format 99, and this version has 1"), ("[[[", "damaged"), (200_000 * "[", "damaged")],
)
def test_a_marker_of_another_format_is_one_line(
    aqmlab: Command, store: Store, small_cell: Cell, content: str, message: str
) -> None:
    store.out.mkdir()
    (store.out / marker.NAME).write_text(content)
    with pytest.raises(lab.SpecError, match=rf"^out: .*aqmlab-store\.json is {message}$"):
        run_cell(small_cell, store)
    outcome = aqmlab("ls")
    assert (outcome.code, outcome.err) == (2, f"aqmlab: out: results/aqmlab-store.json is {message}\n")


def test_nothing_typed_for_a_directory_is_refused(
    aqmlab: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    for command in (["run", "spec.toml", "--out", ""], ["ls", ""], ["report", "--out", ""]):
        outcome = aqmlab(*command)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == "aqmlab: out: must be a directory or a URL, got an empty text\n"
    assert files(tmp_path) == ["spec.toml"]


def test_a_mistyped_store_does_not_look_empty(aqmlab: Command, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name in ("nosuch", "other"):
        for command in ("ls", "console"):
            outcome = aqmlab(command, name)
            assert (outcome.code, outcome.err) == (2, f"aqmlab: DIR: must be a results directory, got {name}\n")
        with pytest.raises(lab.SpecError, match=f"must be a results directory, got .*{name}"):
            Store(tmp_path / name).cells()


def test_stray_files_among_the_cells_are_nobodys_business(
    store: Store, small_cell: Cell, caplog: pytest.LogCaptureFixture
) -> None:
    run_cell(small_cell, store)
    (store.out / "cells" / "notes.txt").touch()
    (store.out / "cells" / "biology").mkdir()
    assert store.cells()["cell"].to_list() == [small_cell.key]
    assert set(store.scan("link").collect()["cell"]) == {small_cell.key}
    assert caplog.messages == []


def test_a_cell_that_is_a_link_is_read_and_only_the_link_removed(
    store: Store, small_cell: Cell, tmp_path: Path
) -> None:
    run_cell(small_cell, store)
    target_store = Store(tmp_path / "other")
    target_store.init()
    (target_store.out / "cells").mkdir()
    (target_store.out / "cells" / small_cell.key).symlink_to(str(store.out / "cells" / small_cell.key))
    assert target_store.cells()["cell"].to_list() == [small_cell.key]
    target_store.remove(small_cell.key)
    assert list((target_store.out / "cells").iterdir()) == []
    assert store.cells().height == 1


def test_a_reader_waits_for_no_lock(store: Store, small_cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    run_cell(small_cell, store)
    monkeypatch.setattr("fcntl.flock", lambda *_: pytest.fail("it waits"))
    reader = Store(store.out)
    assert reader.cells().height == reader.count([small_cell.key]) == 1
    assert reader.get(small_cell) is not None


def test_a_writer_waits_for_no_lock_of_a_stopped_process(
    store: Store, small_cell: Cell, another_cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock(file: int, how: int) -> None:
        assert how & fcntl.LOCK_NB, "it waits"
        flock(file, how)

    flock = fcntl.flock
    monkeypatch.setattr("fcntl.flock", lock)
    with store.create(another_cell):
        # A draft that is being written stays locked, as that of a stopped process does.
        run_cell(small_cell, Store(store.out))
        assert Store(store.out).get(small_cell) is not None
        Store(store.out).remove(small_cell.key)
    assert Store(store.out).keys() == [another_cell.key]


def test_rm_removes_a_cell_that_is_a_link_and_not_its_target(
    aqmlab: Command, store: Store, small_cell: Cell, tmp_path: Path
) -> None:
    run_cell(small_cell, store)
    other = Store(tmp_path / "other")
    other.init()
    (other.out / "cells").mkdir()
    link = other.out / "cells" / small_cell.key
    link.symlink_to(str(store.out / "cells" / small_cell.key))
    outcome = aqmlab("rm", "other", small_cell.key, "--yes")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("removed 1 cell of other")
    assert not link.is_symlink()
    assert store.cells().height == 1


def test_a_remote_location_with_foreign_files_is_not_written_to(place: str, cell: Cell) -> None:
    fs, path = fsspec.url_to_fs(place)
    fs.pipe_file(f"{path}/thesis.tex", b"years of work")
    with pytest.raises(lab.SpecError, match="has files of others and is no store"):
        run_cell(cell, Store(place))
    with pytest.raises(lab.SpecError, match="must be a results directory"):
        Store(place).cells()
    Store(place).init()
    assert Store(place).cells().is_empty()
    assert marker.is_store(location(place))
    run_cell(cell, Store(place))
    assert Store(place).cells()["cell"].to_list() == [cell.key]


def test_the_marker_has_the_number_of_the_format(store: Store, small_cell: Cell) -> None:
    run_cell(small_cell, store)
    assert json.loads((store.out / "aqmlab-store.json").read_text()) == {"format": 1}
    assert not [file for file in store.out.iterdir() if file.name.startswith(".")]
