"""Does the package work on this Python? Every module is imported, and an example runs; nothing but its own dependencies
is needed. `make pythons` asks each Python that is installed beside the one of .venv.
"""

from __future__ import annotations

import importlib
import pkgutil
import runpy
from pathlib import Path

import aqmlab

if __name__ == "__main__":
    for module in pkgutil.walk_packages(aqmlab.__path__, "aqmlab."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "compare.py"), run_name="__main__")
