from __future__ import annotations

import doctest
import importlib
import pkgutil
import runpy
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.campaigns.campaign import plan
from aqmlab.cells.calibration_model import load_calibrations

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")


ENDLESS = {"flows.toml", "long-flows.toml", "cake.toml", "video-call.toml"}
"""The examples whose flows never complete a request."""


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_an_example_spec_is_one(example: Path, tmp_path: Path) -> None:
    short = ["protocol.warmup=1 s", "protocol.duration=20 s"]
    if lab.Experiment.from_toml(example).users.load is not None:
        short.append("users.load=1")
    summary = lab.run(lab.Experiment.from_toml(example, changes=short), out=tmp_path).summary
    assert summary["throughput_mbps" if example.name in ENDLESS else "completed_requests"] > 0


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("sweeps/*.toml")), ids=lambda path: path.name)
def test_an_example_grid_is_possible_at_every_point(example: Path) -> None:
    grid = lab.Grid.from_toml(example)
    assert len(plan(grid, [1], load_calibrations(None))) == len(grid.points()) > 1


def test_the_readme_shows_the_example_that_runs() -> None:
    _, code = (EXAMPLES / "compare.py").read_text().split("\n\n", maxsplit=1)
    assert f"```python\n{code}```" in (EXAMPLES.parent / "README.md").read_text()


@pytest.mark.parametrize(
    "module", [name for _, name, _ in pkgutil.walk_packages(lab.__path__, "aqmlab.") if "._" not in name]
)
def test_the_examples_in_docstrings_give_what_they_show(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0
