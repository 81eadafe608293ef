"""Golden results of a few small runs, to the byte: digests of each column of each table, in ``golden.json``.

``make golden`` rewrites them. It refuses results that have moved while the engine's results number has not.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import aqmlab as lab
from aqmlab import _core, data_file
from aqmlab.cells.cell import cells_of

FILE = Path(__file__).with_name("golden.json")

TABLES = ("queue", "link", "exchanges", "losses")

Digests = dict[str, dict[str, str]]
"""By table, then by column."""

CELLS = data_file.read(Path(__file__).with_name("golden.toml"), dict[str, dict[str, Any]])
"""The specs by name: every stack, kind of link and way of deciding, and sources of most kinds."""


def digests(name: str) -> Digests:
    """Run a cell; return what its columns come to."""
    experiment = lab.Experiment(
        **{
            "testbed": "unc-2003",
            "link": {"rate": "3 Mbit/s"},
            "protocol": {"warmup": "10 s", "duration": "50 s"},
            "record": {"exchanges": True, "losses": True},
            **CELLS[name],
        }
    )
    simulation = _core.Simulation(cells_of(experiment, [1])[0].spec, 1)
    simulation.advance(simulation.end)
    tables = {table: _columns(pa.record_batch(simulation.take(table))) for table in TABLES}
    tables["response_times"] = _columns(pa.record_batch(simulation.response_times()))
    return tables | {"summary": dict(_leaves("", json.loads(simulation.summary())))}


def moved(before: Digests, now: Digests) -> list[str]:
    """Name the columns that are other than before. One that is new moves nothing; one that is gone does."""
    return [
        f"{table}.{column}"
        for table, columns in before.items()
        for column, digest in columns.items()
        if now.get(table, {}).get(column) != digest
    ]


def _columns(batch: pa.RecordBatch) -> dict[str, str]:
    return {
        column: _digest(np.ascontiguousarray(values.to_numpy(zero_copy_only=False)).tobytes())
        for column, values in zip(batch.schema.names, batch.columns, strict=True)
    }


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Walk to the values of objects within objects: a value that joins them moves no other."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(f"{path}.{key}".removeprefix("."), inner)
    else:
        yield path, _digest(json.dumps(value).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def main() -> None:
    """Write what the engine gives today."""
    recorded: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {"results": 0, "cells": {}}
    cells = {name: digests(name) for name in CELLS}
    if recorded["results"] == _core.results_number():
        for name, before in recorded["cells"].items():
            if name in cells and (columns := moved(before, cells[name])):
                sys.exit(f"{name}: {', '.join(columns)}: results moved: raise RESULTS and say why in the changelog")
    FILE.write_text(json.dumps({"results": _core.results_number(), "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
