"""The notebooks run as they stand, cut to seconds, and what they show was made by the code above it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import notebooks

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def _read(file: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return notebook


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, tmp_path: Path, short_run_command: list[str]) -> None:
    # As one program: laws and functions that are defined on the way are those of `__main__`, as in a notebook.
    program = tmp_path / f"{file.stem}.py"
    program.write_text("\n\n".join(notebooks.code(_read(file))), encoding="utf-8")
    process = subprocess.run([*short_run_command, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_notebook_shows_is_of_its_code(file: Path) -> None:
    notebook = _read(file)
    made_by = notebook["metadata"].get(notebooks.KEY, {}).get("code")
    assert made_by == notebooks.code_hash(notebook), f"make notebooks has to run {file.name} again"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_says_nothing_of_the_machine_that_made_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "stderr" not in text
    assert not [word for word in ("/tmp/", "/home/", str(Path.home())) if word in text]


def test_the_site_lists_every_notebook() -> None:
    listed = (ROOT / "docs" / "site" / "notebooks.md").read_text(encoding="utf-8")
    assert [file.stem for file in FILES if f"../notebooks/{file.stem}\n" not in listed] == []
    assert FILES
