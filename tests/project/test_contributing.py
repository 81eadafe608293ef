"""The worked example of CONTRIBUTING.md compiles as it is there; every target of make that is called exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CALLS = {
    ".github/workflows/checks.yml": r"^          - ([a-z].*)$",
    ".ci/run": r"^make (.*)$",
    "CONTRIBUTING.md": r"^\| `make (.*?)`",
    "docs/versions.md": r"`make (.*?)`",
    "Makefile": r"^#   make ([a-z-]+) ",
}
"""The files that call or name targets of make, with patterns that find them."""


@pytest.mark.parametrize("file", CALLS)
def test_make_has_the_targets_that_are_called(file: str) -> None:
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"[a-z-]+", " ".join(re.findall(r"^([a-z -]+):", make, re.MULTILINE))))
    calls = re.findall(CALLS[file], (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    called = {word for call in calls for word in call.partition(" --")[0].split()}
    assert called
    assert called <= targets
    (phony,) = re.findall(r"^\.PHONY: (.*)$", make, re.MULTILINE)
    assert called <= set(phony.split())


@pytest.mark.documents
@pytest.mark.slow
def test_a_discipline_that_is_added_as_told_compiles(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "crates", tmp_path / "crates")
    shutil.copytree(ROOT / "examples" / "rust_aqm", tmp_path / "examples" / "rust_aqm")
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    law, test = re.findall(r"```rust\n(//! Step:.*?)```", guide, re.DOTALL)
    entry = re.search(r"\*\*2\. Enter it\*\*.*?\n\n( {4}[^\n]*\n)", guide, re.DOTALL)
    assert entry is not None
    aqm = tmp_path / "crates" / "aqm"
    (aqm / "src" / "disciplines" / "step.rs").write_text(law, encoding="utf-8")
    (aqm / "pages" / "step.md").write_text("# Step\n", encoding="utf-8")
    (aqm / "tests" / "step.rs").write_text(test, encoding="utf-8")
    listed = aqm / "src" / "disciplines.rs"
    text = listed.read_text(encoding="utf-8")
    listed.write_text(text.replace("disciplines! {\n", f"disciplines! {{\n{entry[1]}"), encoding="utf-8")
    # The workspace's build directory has the dependencies.
    check = ("cargo", "check", "--offline", "--quiet", "-p", "aqmlab-aqm", "--features", "serde", "--test", "step")
    process = subprocess.run(
        [*check, "--target-dir", str(ROOT / "target" / "contributing")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, "")
