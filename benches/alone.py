"""The engine's extension alone: what the package around it imports would count as its memory and its instructions.

``python alone.py SPEC.json`` runs a spec with seed 1 and prints the summary.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any


def load_engine() -> Any:
    """Load the extension that is installed beside this interpreter."""
    package = find_spec("aqmlab")
    module_spec = PathFinder.find_spec("_core", package.submodule_search_locations) if package else None
    if module_spec is None or module_spec.loader is None:
        sys.exit("bench: build the extension first: make .venv/extension.stamp")
    module = module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    core = load_engine()
    simulation = core.Simulation(core.Resolved(Path(sys.argv[1]).read_text()), 1)
    simulation.advance(simulation.end)
    print(simulation.summary())
