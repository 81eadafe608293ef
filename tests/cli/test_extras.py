"""The core works without the packages of the extras, and a command that needs one names its extra."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from aqmlab.ui.extras import EXTRAS

BLOCKED = sorted({module for modules in EXTRAS.values() for module in modules})

PROGRAM = f"""
import sys
for module in {BLOCKED}:
    sys.modules[module] = None
from aqmlab.cli.main import main
main()
"""

HOME_LINK = Path(__file__).parents[2] / "examples" / "home-link.toml"

SHORT = ("--users", "20", "--warmup", "1 s", "--duration", "2 s", "--seeds", "2")


def _without_extras(arguments: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def test_the_core_runs_and_compares(tmp_path: Path) -> None:
    for arguments in (["compare", "codel", *SHORT], ["ls"], ["aqm", "show", "codel"], ["show", str(HOME_LINK)]):
        outcome = _without_extras(arguments, tmp_path)
        assert outcome.returncode == 0, outcome.stderr
    assert list(tmp_path.glob("results/figures/*.svg"))


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["report"], "report"),
        (["console"], "console"),
        (["run", "SPEC", "--watch"], "console"),
        (
            ["tune", "codel", "--over", "target", "--set", "users.per_side=20", "--set", "protocol.duration=1 s"],
            "search",
        ),
        (["sensitivity", "codel", "--over", "target", "--set", "users.per_side=20"], "search"),
        (["ls", "s3://bucket/prefix"], "remote"),
    ],
)
def test_a_command_without_its_extra_names_it(arguments: list[str], extra: str, tmp_path: Path) -> None:
    outcome = _without_extras([str(HOME_LINK) if word == "SPEC" else word for word in arguments], tmp_path)
    assert outcome.returncode == 2
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("aqmlab: ")
    assert line.endswith(f"not installed; install the extra: pip install 'aqmlab[{extra}]'")
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_each_extra_has_the_packages_of_its_modules() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    declared = project["optional-dependencies"]
    assert set(declared) == {*EXTRAS, "all"}
    distributions = packages_distributions()
    for extra, modules in EXTRAS.items():
        packages = {distributions[module][0].lower().replace("_", "-") for module in modules}
        assert packages == {text.partition(">")[0] for text in declared[extra]}
