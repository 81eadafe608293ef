"""Allowed dependencies between crates, and between packages of Python."""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "units": set[str](),
    "aqm": {"units"},
    "tcp": {"units"},
    "workload": {"units"},
    "sim": {"units", "aqm", "tcp", "workload"},
    "live": {"units", "aqm", "tcp", "workload", "sim"},
    "kernel": {"live"},
    "py": {"units", "aqm", "tcp", "workload", "sim"},
    "rust-aqm": {"units", "aqm"},
}


def crates() -> dict[str, set[str]]:
    """Each crate of ours with those of ours it depends on, in tests as well."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    own_crates = {package["name"] for package in metadata["packages"]}
    return {
        package["name"].removeprefix("aqmlab-"): {
            dependency["name"].removeprefix("aqmlab-")
            for dependency in package["dependencies"]
            if dependency["name"] in own_crates
        }
        for package in metadata["packages"]
    }


@pytest.mark.parametrize(("crate", "dependencies"), crates().items())
def test_a_crate_depends_only_on_those_below_it(crate: str, dependencies: set[str]) -> None:
    assert dependencies <= ALLOWED[crate]


PACKAGES = (
    *("ui", "disciplines", "controls", "models", "design", "spec", "traces", "topology"),
    *("storage", "cells", "tc", "metrics", "stats", "store", "running", "results"),
    *(
        "calibration",
        "campaigns",
        "conversations",
        "live",
        "conformance",
        "advice",
        "explanations",
        "studies",
        "reports",
        "evaluation",
        "console",
        "cli",
    ),
)
"""Python's packages from the bottom to the top: each imports only those before it."""


def imported(file: Path, nodes: Callable[[ast.AST], Iterable[ast.AST]] = ast.walk) -> Iterator[str]:
    """Yield the modules of ours that a file imports, be it when a function is called or for annotations alone."""
    for node in nodes(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "aqmlab":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if node.module == "aqmlab" or inner in MODULES else node.module


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a part of a module, without what is there for type checkers."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from executed(child)


PYTHON = ROOT / "python"
MODULES = {
    ".".join(file.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted((PYTHON / "aqmlab").rglob("*.py"))
}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_those_before_it(package: str) -> None:
    below = {"_core", *PACKAGES[: PACKAGES.index(package) + 1]}
    used = {
        (name, module)
        for name, file in MODULES.items()
        if name.split(".")[1:2] == [package]
        for module in imported(file)
        if module.split(".")[1] in PACKAGES and module.split(".")[1] not in below
    }
    assert not used


def test_every_package_has_a_place_in_the_order() -> None:
    assert set(PACKAGES) == {file.parent.name for file in (PYTHON / "aqmlab").glob("*/__init__.py")}


def test_no_modules_import_each_other_in_a_circle() -> None:
    order = TopologicalSorter({name: set(imported(file)) for name, file in MODULES.items()})
    assert len(list(order.static_order())) > 100


DRAWING = {
    *("bar", "barh", "errorbar", "fill_between", "fill_betweenx", "hist", "hlines", "imshow", "loglog", "pcolormesh"),
    *("plot", "scatter", "semilogx", "semilogy", "stairs", "stem", "step", "vlines"),
}
"""Methods of an axis that draw data; lines and shades that mark a value are no data."""


def test_studies_draw_with_the_functions_that_everybody_has() -> None:
    drawn = [
        f"{file.relative_to(PYTHON)}:{node.lineno} {node.func.attr}"
        for name, file in MODULES.items()
        if name.startswith("aqmlab.studies.")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWING
        # A module's function of that name.
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id.endswith("figures"))
    ]
    assert not drawn


def test_no_package_has_more_modules_than_a_person_oversees() -> None:
    # Commands are a list of their own: a file for each, not read as a whole.
    rooms = [file.parent for file in MODULES.values() if file.stem != "__init__" and file.parent.name != "commands"]
    assert max(map(rooms.count, set(rooms))) <= 12
