"""The rule that a test is not skipped in CI: see ``tests/kit/skips.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import skips

SKIPPED = """
import pytest


def test_nothing():
    pytest.skip({reason!r})
"""


@pytest.mark.parametrize(
    ("reason", "ci", "workers", "code"),
    [
        ("tshark is not installed", "true", "-n1", 1),
        ("tshark is not installed", "", "-n0", 0),
        ("the run is invalid: late", "true", "-n0", 0),
    ],
)
def test_a_skip_fails_ci_unless_its_reason_is_listed(
    reason: str, ci: str, workers: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "test_x.py").write_text(SKIPPED.format(reason=reason))
    (tmp_path / "conftest.py").write_text("from skips import pytest_sessionfinish\n")
    kit = str(Path(skips.__file__).parent)
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", workers, str(tmp_path)],
        env={**os.environ, "CI": ci, "PYTHONPATH": kit},
        capture_output=True,
        text=True,
    )
    assert process.returncode == code, process.stdout
