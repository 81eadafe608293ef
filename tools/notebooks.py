"""Run the notebooks and store their outputs: ``python tools/notebooks.py docs/notebooks/*.ipynb``.

Each runs in an empty directory. The site shows the stored outputs. A hash of the code is stored with them, so that a
test finds outputs of older code.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

KEY = "aqmlab"
"""Key of the code's hash in a notebook's metadata."""

_MAX_BYTES = 180_000


def code(notebook: dict[str, Any]) -> list[str]:
    """Return the code cells, in order."""
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def code_hash(notebook: dict[str, Any]) -> str:
    """Return a hash of a notebook's code."""
    return hashlib.sha256("\0".join(code(notebook)).encode()).hexdigest()[:16]


def run(file: Path) -> None:
    """Run a notebook and write it with its outputs, without standard error, where progress is shown."""
    # Imported here because only this function needs them; the tests run the code without them.
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)
    with TemporaryDirectory() as directory:
        resources = {"metadata": {"path": directory}}
        NotebookClient(notebook, kernel_name="python3", resources=resources, record_timing=False).execute()
    cells = [_stored_cell(cell) for cell in notebook["cells"]]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    executed = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    metadata[KEY] = {"code": code_hash(executed)}
    text = json.dumps(executed, indent=1, ensure_ascii=False) + "\n"
    if len(text) > _MAX_BYTES:
        raise SystemExit(f"{file}: must have at most {_MAX_BYTES:,} bytes, got {len(text):,}: draw smaller figures")
    file.write_text(text, encoding="utf-8")


def _stored_cell(cell: Any) -> dict[str, Any]:
    stored = {"cell_type": cell["cell_type"], "id": cell["id"], "metadata": {}, "source": _lines(cell["source"])}
    if cell["cell_type"] == "code":
        outputs = [output for output in cell["outputs"] if output.get("name") != "stderr"]
        stored |= {"execution_count": cell["execution_count"], "outputs": outputs}
    return stored


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        run(Path(argument))
