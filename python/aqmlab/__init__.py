"""A laboratory for active queue management.

aqmlab simulates thousands of users behind a congested link, packet by packet, and compares queue disciplines under
exactly the same users. It measures response times, queueing delay, loss, marks and goodput.

>>> import aqmlab as lab
>>> result = lab.run(lab.Experiment(queue={"pi": {"q_ref": 24}}), seed=1)  # doctest: +SKIP
"""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import Any


def _public_modules() -> dict[str, str]:
    """Return the module of each public name, as ``__init__.pyi`` imports it for type checkers."""
    stub = ast.parse((files(__name__) / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    found = {alias.name: node.module or "" for node in imports for alias in node.names}
    return {name: module for name, module in found.items() if module.startswith(f"{__name__}.")}


_MODULE_OF = _public_modules()
"""The module of each public name, imported on first use: a program imports only the modules that it needs."""

__all__ = sorted(_MODULE_OF, key=lambda name: (not name.isupper(), name))
"""The public names: constants, classes, functions."""


def __getattr__(name: str) -> Any:
    """Import a public name, or a module of the package, on first use."""
    if name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version(__name__)
    elif not name.startswith("__") and find_spec(f"{__name__}.{name}"):
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
