"""Markers of pytest: each selects a test, and CONTRIBUTING.md describes it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DECLARED: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"][
    "ini_options"
]["markers"]
"""Lines ``name: description``."""

SELECTED = {
    "browser": "tests/pages/test_report_browser.py",
    "documents": "tests/documents/test_notebooks.py",
    "live": "tests/live/test_live_programs.py",
    "remote": "tests/store/test_elsewhere.py",
    "slow": "tests/results/test_numbers.py",
}
"""A file with a test of each marker."""

PLUGIN = """
def pytest_collection_finish(session):
    print("markers:", *{marker.name for test in session.items for marker in test.iter_markers()})
"""


def test_every_marker_has_a_file_of_its_tests() -> None:
    assert [line.partition(":")[0] for line in DECLARED] == sorted(SELECTED)


def test_each_marker_selects_tests(tmp_path: Path) -> None:
    (tmp_path / "marker_list.py").write_text(PLUGIN)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "marker_list",
        "-p",
        "no:cacheprovider",
        "--collect-only",
        "--quiet",
    ]
    collected = subprocess.run(
        [*command, *SELECTED.values()],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert collected.returncode == pytest.ExitCode.OK, collected.stdout + collected.stderr
    assert SELECTED.keys() <= set(collected.stdout.split("markers: ")[1].split())


@pytest.mark.parametrize("line", DECLARED)
def test_contributing_describes_a_marker(line: str) -> None:
    name, _, description = line.partition(": ")
    assert f"| `{name}` | {description} |" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
