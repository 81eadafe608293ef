"""What CONTRIBUTING.md tells a contributor to write is compiled as it stands there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_discipline_that_is_added_as_told_compiles(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "crates", tmp_path / "crates")
    told = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    law = re.search(r"```rust\n(//! Step:.*?)```", told, re.DOTALL)
    entries = re.search(r"\*\*2\. Enter it\*\*.*?\n\n((?: {4}.*\n)+)", told)
    assert law is not None
    assert entries is not None
    module, export, imported, *entry = (line.strip() for line in entries[1].splitlines())
    aqm = tmp_path / "crates" / "aqm"
    (aqm / "src" / "disciplines" / "step.rs").write_text(law[1], encoding="utf-8")
    (aqm / "pages" / "step.md").write_text("# Step\n", encoding="utf-8")
    add(aqm / "src" / "disciplines.rs", f"{module}\n", before="pub(crate) mod droptail;")
    add(aqm / "src" / "lib.rs", f"{export}\n", before="pub use disciplines::droptail::")
    add(aqm / "src" / "catalogue.rs", f"{imported}\n", before="use crate::{")
    add(aqm / "src" / "catalogue.rs", "\n".join(entry) + "\n", before="    /// ", after="disciplines! {")
    # The workspace's build directory has the dependencies.
    check = ("cargo", "check", "--offline", "--quiet", "-p", "aqmlab-aqm", "--features", "serde")
    done = subprocess.run(
        [*check, "--target-dir", str(ROOT / "target" / "contributing")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def add(file: Path, lines: str, *, before: str, after: str = "") -> None:
    """Put lines before what stands there first, or first after something."""
    text = file.read_text(encoding="utf-8")
    place = text.index(before, text.rindex(after) if after else 0)
    file.write_text(f"{text[:place]}{lines}{text[place:]}", encoding="utf-8")
