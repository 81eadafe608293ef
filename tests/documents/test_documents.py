"""README, CONTRIBUTING and the guides: every fenced block runs, in order, as it does for a reader.

Experiments are cut to seconds (``short_runs.py``); nothing else is changed. What cannot be run says why in ``NOT_RUN``.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
import typer.main
import yaml

import aqmlab as lab
import short_runs
from aqmlab import plot
from aqmlab.cells.cell import cells_of
from aqmlab.cli.main import app
from aqmlab.explanations import PARTS

ROOT = Path(__file__).parents[2]

DOCUMENTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "guide").glob("*.md")))
}

NOT_RUN = {
    ("CONTRIBUTING.md", "rust"): "the law that a contributor is about to write",
    ("CONTRIBUTING.md", "aqmlab compare"): "compares that law",
    ("docs/guide/evaluate.md", "aqmlab study rfc9743 --control my_control:Gentle\n"): "2,210 cells; one clause is run",
    ("docs/guide/custom-law.md", "rust"): "an excerpt of examples/rust_aqm, which make test builds; compared below",
}
"""Blocks that are not run, by document and how they begin, or their language; and why."""

NEEDED = {"tshark": shutil.which("tshark")}
"""Programs that a block may need and a machine may lack."""


class Block(NamedTuple):
    """A fenced block."""

    language: str
    file: str
    """The name to save it under, where the fence has one: ``toml slow.toml``."""
    text: str


def blocks(document: str) -> list[Block]:
    """Return the blocks of a document; those without a language are output or layout."""
    fences = re.findall(r"^```(\S+) *(\S*)\n(.*?)^```$", DOCUMENTS[document], re.DOTALL | re.MULTILINE)
    return [Block(*fence) for fence in fences]


def reason(document: str, block: Block) -> str | None:
    """Return why a block is not run, or ``None``."""
    for (page, start), why in NOT_RUN.items():
        if page == document and (block.language == start or block.text.startswith(start)):
            return why
    return None


class Reader:
    """Somebody who does what a document says in a directory that holds the examples and an environment."""

    def __init__(self, directory: Path, aqmlab: list[str]) -> None:
        self.directory = directory
        self.names: dict[str, Any] = {"__name__": "__main__"}
        """The names that the document's Python has defined so far."""
        (directory / "examples").symlink_to(ROOT / "examples")
        self._bin = directory / ".venv" / "bin"
        self._bin.mkdir(parents=True)
        (self._bin / "activate").touch()
        self._program("aqmlab", f"exec {shlex.join(aqmlab)}")
        # That a target is there is what can be asked in a test; what it does takes minutes to hours.
        self._program("make", f"exec {shutil.which('make')} --dry-run --directory {shlex.quote(str(ROOT))}")

    def does(self, block: Block) -> None:
        if block.file:
            (self.directory / block.file).write_text(block.text)
            if block.language == "python":
                # A module is for others to import.
                return
        match block.language:
            case "sh":
                self._shell(block.text)
            case "console":
                self._shell("\n".join(re.findall(r"^\$ (.*)$", block.text, re.MULTILINE)))
            case "python":
                exec(compile(block.text, block.file or "<block>", "exec"), self.names)
            case "toml" if block.file.endswith("grid.toml"):
                lab.Grid(**tomllib.loads(block.text)).points()
            case "toml":
                experiment = lab.Experiment(**{"users": {"per_side": 5}, **tomllib.loads(block.text)})
                cells_of(experiment, [1])[0]
            case "yaml":
                # The first of many jobs, as the cluster would start it.
                yaml.safe_load(block.text)
                shell = re.sub(r"\$\{\{ matrix\.shard \}\}", "1", block.text)
                (command,) = re.findall(r"aqmlab sweep [^\]\n]*", shell)
                self._shell(f"JOB_COMPLETION_INDEX=0; {command}")
            case "sql":
                assert duckdb.execute(block.text).fetchall()
            case _:
                raise AssertionError(f"say in NOT_RUN why this is not run: {block.text}")

    def _shell(self, commands: str) -> None:
        path = f"{self._bin}{os.pathsep}{os.environ['PATH']}"
        source = os.pathsep.join(filter(None, (str(Path(lab.__file__).parents[1]), os.environ.get("PYTHONPATH"))))
        process = subprocess.run(
            ["sh", "-e", "-c", commands],
            cwd=self.directory,
            env={**os.environ, "PATH": path, "PYTHONPATH": source, "MAKEFLAGS": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, f"{commands}\n{process.stdout}\n{process.stderr}"

    def _program(self, name: str, command: str) -> None:
        file = self._bin / name
        file.write_text(f'#!/bin/sh\n{command} "$@"\n')
        file.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_shows_runs(
    document: str, tmp_path: Path, short_run_command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab.Experiment, "to_json", short_runs.to_json)
    reader = Reader(tmp_path, short_run_command)
    for block in blocks(document):
        if reason(document, block) is None and all(NEEDED.get(word, word) for word in block.text.split()):
            reader.does(block)


def test_what_is_not_run_is_there_and_says_why() -> None:
    reasons = {reason(document, block) for document in DOCUMENTS for block in blocks(document)}
    assert reasons - {None} == set(NOT_RUN.values())


def test_the_readme_names_every_command() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert commands
    assert [name for name in commands if f"`aqmlab {name}" not in DOCUMENTS["README.md"]] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_stand_in_fences(document: str) -> None:
    prose = re.sub(r"^```.*?^```$", "", DOCUMENTS[document], flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"^ +(?:\$ )?(?:aqmlab|make|cargo|pip|git|python|tshark|\.venv\S*) .*$", prose, re.MULTILINE)


def test_the_guide_shows_the_law_of_the_rust_example() -> None:
    (example,) = [block.text for block in blocks("docs/guide/custom-law.md") if block.language == "rust"]
    law = (ROOT / "examples" / "rust_aqm" / "src" / "lib.rs").read_text()
    # The guide leaves out what shows the law's variable.
    assert example.rstrip().removesuffix("}").rstrip() in law


def test_the_guide_to_explanations_names_every_part() -> None:
    guide = DOCUMENTS["docs/guide/explain.md"]
    for column, name in PARTS.items():
        assert re.search(rf"^\| {name} \| .* \| `{column}` \|$", guide, re.MULTILINE), column


def test_the_guide_to_results_names_every_figure() -> None:
    matches = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| .* \| .* \|$", DOCUMENTS["docs/guide/results.md"], re.MULTILINE)
    assert set(plot.__all__) <= {name for names in matches for name in re.findall(r"\w+", names)}
