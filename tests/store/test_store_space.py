"""A full disk, a directory that cannot be written to, a name that is too long: one line, and nothing is lost."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.cells.cell import Cell
from aqmlab.running.run import run_cell
from aqmlab.store.store import Store
from conftest import Command, Outcome
from disks import mounted, remount

SHORT = ("--users", "40", "--warmup", "1 s", "--duration", "20 s", "--seeds", "1", "--workers", "1")


PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def command(*arguments: str, limit: int | None = None) -> Outcome:
    """Run a command in a process of its own, whose files may be no longer than a limit.

    Permissions hold for it even if the tests are run by root.
    """
    libc = ctypes.CDLL(None)

    def begin() -> None:
        if os.geteuid() == 0:
            for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
                libc.prctl(PR_CAPBSET_DROP, capability)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    line = [sys.executable, "-m", "aqmlab", *arguments]
    process = subprocess.run(line, capture_output=True, text=True, check=False, preexec_fn=begin)
    return Outcome(process.returncode, process.stdout, process.stderr)


def fill(directory: Path, leave: int) -> None:
    """Fill a file system but for some bytes."""
    free = os.statvfs(directory)
    with (directory / "filler").open("wb") as file:
        file.write(bytes(free.f_bavail * free.f_bsize - leave))


def contents(out: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in (out / "cells").rglob("*") if file.is_file()}


def is_one_line(outcome: Outcome, place: Path, reason: str | tuple[str, ...]) -> bool:
    """Say whether a command's last word was one line with place and reason, after lines on how far it was."""
    *before, line = outcome.err.splitlines()
    return (
        outcome.code in (1, 2)
        and line.startswith("aqmlab: ")
        and str(place) in line
        and line.endswith(reason)
        and not any(text.startswith(("aqmlab: ", "Traceback", "Exception")) for text in before)
    )


@pytest.mark.slow
@pytest.mark.parametrize("leave", [0, 8_000, 40_000, 80_000])
def test_a_full_disk_is_one_line_and_finished_cells_stay(tmp_path: Path, small_cell: Cell, leave: int) -> None:
    with mounted(tmp_path / "small", "2m") as disk:
        out = disk / "results"
        run_cell(small_cell, Store(out))
        before = contents(out)
        fill(disk, leave)
        outcome = command("compare", "pi", *SHORT, "--record", "exchanges", "--out", str(out))
        assert is_one_line(outcome, out, ("No space left on device", "(No space left on device)"))
        assert before.items() <= contents(out).items()
        assert list((out / "drafts").glob("*/")) == []
        (disk / "filler").unlink()
        resumed = command("compare", "pi", *SHORT, "--record", "exchanges", "--no-figures", "--out", str(out))
        assert resumed.code == 0
        assert Store(out).cells().height == 3


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 100, 1_000, 4_000, 16_000])
def test_a_file_size_limit_is_one_line_and_cells_stay(tmp_path: Path, small_cell: Cell, limit: int) -> None:
    out = tmp_path / "results"
    run_cell(small_cell, Store(out))
    before = contents(out)
    outcome = command("compare", "pi", *SHORT, "--record", "exchanges", "--out", str(out), limit=limit)
    assert is_one_line(outcome, out, "File too large")
    assert before.items() <= contents(out).items()
    assert list((out / "drafts").glob("*/")) == []


def test_a_full_disk_from_python_is_a_store_error(tmp_path: Path, small_cell: Cell, another_cell: Cell) -> None:
    with mounted(tmp_path / "small", "1m") as disk:
        store = Store(disk)
        result = run_cell(small_cell, store)
        fill(disk, 20_000)
        with pytest.raises(lab.StoreError, match=r"^/.*: cannot be written: No space left on device$"):
            run_cell(another_cell, store)
        assert store.cells()["cell"].to_list() == [result.cell.key]


@pytest.mark.slow
def test_a_figure_over_the_size_limit_is_one_line(tmp_path: Path) -> None:
    first = command("compare", "pi", *SHORT, "--out", str(tmp_path), "--no-figures")
    assert first.code == 0
    rerun = command("compare", "pi", *SHORT, "--out", str(tmp_path), limit=10_000)
    assert is_one_line(rerun, tmp_path / "figures" / "response-times-cdf_pi", "cannot be written: File too large")
    assert Store(tmp_path).cells().height == 2


@pytest.mark.slow
def test_a_directory_mounted_to_be_read_is_read_and_not_written(tmp_path: Path, small_cell: Cell) -> None:
    with mounted(tmp_path / "small", "2m") as disk:
        out = disk / "results"
        run_cell(small_cell, Store(out))
        before = contents(out)
        remount(disk, "ro")
        assert run_cell(small_cell, Store(out)).queue.height > 0
        assert command("ls", str(out)).code == 0
        outcome = command("compare", "pi", *SHORT, "--out", str(out))
        assert is_one_line(outcome, out, f"out: must be a directory to write to, got {out} (Read-only file system)")
        outcome = command("rm", str(out), "--scheme", "pi", "--yes")
        assert is_one_line(outcome, out, "Read-only file system")
        assert contents(out) == before


def test_a_damaged_cell_that_cannot_be_set_aside_is_one_line(tmp_path: Path, small_cell: Cell) -> None:
    with mounted(tmp_path / "small", "2m") as disk:
        store = Store(disk)
        file = run_cell(small_cell, store).directory / "queue.parquet"
        os.truncate(file, 7)
        remount(disk, "ro")
        advice = f"remove {file.parent}, which cannot be set aside"
        with pytest.raises(lab.StoreError, match=f"^{file} is damaged: it has 7 bytes, .*; {advice}"):
            run_cell(small_cell, store)


@pytest.mark.slow
def test_a_directory_without_permission_is_one_line(tmp_path: Path, small_cell: Cell) -> None:
    out = tmp_path / "results"
    run_cell(small_cell, Store(out))
    for directory in (out, out / "cells", out / "drafts"):
        directory.chmod(0o555)
    assert command("ls", str(out)).code == 0
    outcome = command("compare", "pi", *SHORT, "--out", str(out))
    assert is_one_line(outcome, out, "(Permission denied)")


def test_an_unreadable_file_is_one_line_and_stays(tmp_path: Path) -> None:
    arguments = ("compare", "pi", *SHORT, "--no-baseline", "--no-figures", "--out", str(tmp_path / "results"))
    assert command(*arguments).code == 0
    (file,) = tmp_path.glob("results/cells/*/queue.parquet")
    file.chmod(0)
    outcome = command(*arguments)
    assert is_one_line(outcome, file, "cannot be read: Permission denied")
    assert file.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "pi", *SHORT, "--out"),
        ("run", "spec.toml", "--out"),
        ("show", "spec.toml", "--out"),
        ("calibrate", "--out"),
        ("study", "kwon2003", "--quick", "--out"),
        ("compare", "pi", *SHORT, "--figures"),
        ("explain",),
        ("ls",),
        ("rm", "--where", "results=1"),
    ],
)
def test_a_name_of_300_characters_is_one_line(aqmlab: Command, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "spec.toml").write_text("[users]\nper_side = 5\n[protocol]\nwarmup = '0 s'\nduration = '1 s'\n")
    outcome = aqmlab(*arguments, 300 * "x")
    assert (outcome.code, outcome.out) == (2, "")
    *before, line = outcome.err.splitlines()
    assert line.startswith("aqmlab: ")
    assert 300 * "x" in line
    assert not any("aqmlab: " in text for text in before)
    assert [path.name for path in tmp_path.iterdir()] == ["spec.toml"]
