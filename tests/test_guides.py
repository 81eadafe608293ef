"""What the guides show runs, and is what the examples are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.cell import Cell, make_cell
from aqmlab.explain import PARTS
from aqmlab.run import run_cell
from aqmlab.store import Store

ROOT = Path(__file__).parents[1]


def code(guide: str, language: str) -> list[str]:
    text = (ROOT / "docs" / "guide" / guide).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_code_of_the_guide_to_queues_runs() -> None:
    names: dict[str, object] = {}
    for block in code("queue.md", "python"):
        exec(block, names)
    assert isinstance(names["q"], lab.Queue)
    assert names["q"].counters.offered == 1000


def test_the_code_of_the_guide_to_own_laws_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module, calls = code("own-aqm.md", "python")
    (tmp_path / "my_module.py").write_text(module)
    by_name = calls.splitlines()[-1]
    names: dict[str, object] = {"lab": lab}
    exec(f"q = {by_name}", names)
    assert repr(names["q"]).startswith("<Queue my_module:Step(threshold=40)")


def test_the_guide_shows_the_law_of_the_rust_example() -> None:
    (shown,) = code("own-aqm.md", "rust")
    law = (ROOT / "examples" / "rust_aqm" / "src" / "lib.rs").read_text()
    # The guide leaves out what shows the law's variable.
    assert shown.rstrip().removesuffix("}").rstrip() in law


def test_the_code_of_the_guide_to_sources_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    (block,) = code("sources.md", "python")
    exec(block, names)
    assert names["result"].record()["sources"][0]["goodput_mbps"] > 5


def test_the_code_of_the_guide_to_topologies_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    (block,) = code("topology.md", "python")
    exec(block, names)
    slow = [link["utilisation"] for link in names["result"].record()["directions"] if link["link"] == 2]
    assert max(slow) > 0.9


@pytest.mark.parametrize("guide", ["tcp.md", "sources.md", "topology.md"])
def test_specs_of_the_guides_are_sound(guide: str) -> None:
    for spec in code(guide, "toml"):
        experiment = lab.Experiment(**{"users": {"per_side": 5}, **tomllib.loads(spec)})
        make_cell(experiment, seed=1, load_percent=None)


def test_the_code_of_the_guide_to_explanations_runs_and_names_every_part(small_cell: Cell, store: Store) -> None:
    names: dict[str, object] = {"directory": run_cell(small_cell, store).directory}
    (block,) = code("explain.md", "python")
    exec(block, names)
    assert isinstance(names["explanation"], lab.Explanation)
    guide = (ROOT / "docs" / "guide" / "explain.md").read_text()
    for column, name in PARTS.items():
        assert re.search(rf"^\| {name} \| .* \| `{column}` \|$", guide, re.MULTILINE), column
