"""The rules of the crates: who may depend on whom."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ALLOWED = {
    "units": set[str](),
    "aqm": {"units"},
    "tcp": {"units"},
    "workload": {"units"},
    "sim": {"units", "aqm", "tcp", "workload"},
    "live": {"units", "aqm", "workload"},
    "py": {"units", "aqm", "tcp", "workload", "sim", "live"},
}


def crates() -> dict[str, set[str]]:
    """Each crate of ours with those of ours it depends on, in tests as well."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    ours = {package["name"] for package in metadata["packages"]}
    return {
        package["name"].removeprefix("aqmlab-"): {
            dependency["name"].removeprefix("aqmlab-")
            for dependency in package["dependencies"]
            if dependency["name"] in ours
        }
        for package in metadata["packages"]
    }


@pytest.mark.parametrize(("crate", "dependencies"), crates().items())
def test_a_crate_depends_only_on_those_below_it(crate: str, dependencies: set[str]) -> None:
    assert dependencies <= ALLOWED[crate]
