"""Run the notebooks and keep what they print: ``python tools/notebooks.py docs/notebooks/*.ipynb``.

Each runs in an empty directory. What is kept is what the site shows, with a hash of the code that made it, by which a
test finds what is no longer made by the code above it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

KEY = "aqmlab"
"""Where a notebook's metadata have the hash of its code."""

_LARGEST = 180_000


def code(notebook: dict[str, Any]) -> list[str]:
    """Return the cells that run, in order."""
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def code_hash(notebook: dict[str, Any]) -> str:
    """Return what names the code of a notebook."""
    return hashlib.sha256("\0".join(code(notebook)).encode()).hexdigest()[:16]


def run(file: Path) -> None:
    """Run a notebook and write it with its outputs; progress, which is told on standard error, is none of them."""
    # Only whoever runs notebooks needs these; the tests run the code alone.
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)
    with TemporaryDirectory() as directory:
        resources = {"metadata": {"path": directory}}
        NotebookClient(notebook, kernel_name="python3", resources=resources, record_timing=False).execute()
    cells = [_kept(cell) for cell in notebook["cells"]]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    made = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    metadata[KEY] = {"code": code_hash(made)}
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    if len(text) > _LARGEST:
        raise SystemExit(f"{file}: must have at most {_LARGEST:,} bytes, got {len(text):,}: draw smaller figures")
    file.write_text(text, encoding="utf-8")


def _kept(cell: Any) -> dict[str, Any]:
    kept = {"cell_type": cell["cell_type"], "id": cell["id"], "metadata": {}, "source": _lines(cell["source"])}
    if cell["cell_type"] == "code":
        outputs = [output for output in cell["outputs"] if output.get("name") != "stderr"]
        kept |= {"execution_count": cell["execution_count"], "outputs": outputs}
    return kept


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        run(Path(argument))
