"""Golden results of a few small runs, to the byte: digests of each column of each table, in ``golden.json``.

``make golden`` rewrites them. It refuses results that have moved while the engine's results number has not.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import aqmlab as lab
from aqmlab import _core
from aqmlab.cells.cell import cells_of

FILE = Path(__file__).with_name("golden.json")

TABLES = ("queue", "link", "exchanges", "losses")

Digests = dict[str, dict[str, str]]
"""By table, then by column."""

_WEB = {"per_side": 400, "workload": "unc-2001"}
_LINUX = {"profile": "linux-6"}
_SLOW = {"rate": "2 Mbit/s"}
_NO_USERS = {"per_side": 0}
_BULK = {"bulk": {"flows": 4, "rtt": {"fixed": "40 ms"}}}

CELLS: dict[str, Mapping[str, Any]] = {
    "users of 2001 under drop-tail": {"users": _WEB},
    "uncongested": {"link": {"rate": "1 Gbit/s"}, "users": _WEB},
    "ARED, general round-trip times, delayed acknowledgements": {
        "queue": {"ared": {}},
        "users": {**_WEB, "rtt": "general"},
        "tcp": {"profile": "freebsd-4.5"},
    },
    "PI with ECN": {"queue": {"pi": {"q_ref": 24}}, "users": _WEB, "tcp": {"ecn": True}},
    "REM with ECN+": {"queue": {"rem": {"q_ref": 24}}, "users": _WEB, "tcp": {"ecn": "ecn+"}},
    "wide windows under RED": {
        "queue": {"red": {"min_th": 20, "max_th": 60}},
        "users": _NO_USERS,
        "sources": [_BULK],
        "tcp": {"window_scaling": True, "receive_window": 1_000_000},
    },
    "Linux under CoDel": {"queue": {"codel": {}}, "users": _WEB, "tcp": _LINUX},
    "Linux with ECN under FQ-CoDel": {"queue": {"fq_codel": {}}, "users": _WEB, "tcp": {**_LINUX, "ecn": True}},
    "Linux without SACK under PIE": {
        "queue": {"pie": {}},
        "users": _WEB,
        "tcp": {**_LINUX, "sack": False, "rack": False, "frto": False},
    },
    "Prague beside CUBIC under DualPI2": {
        "queue": {"dualpi2": {}},
        "users": _NO_USERS,
        "sources": [{"bulk": {**_BULK["bulk"], "name": name}} for name in ("scalable", "classic")],
        "tcp": {
            **_LINUX,
            "mix": [{"source": "scalable", "share": 1.0, "congestion": "prague", "ecn": "accurate"}],
        },
    },
    "BBR under SFQ": {
        "queue": {"sfq": {}},
        "users": _NO_USERS,
        "sources": [_BULK],
        "tcp": {**_LINUX, "congestion": "bbr"},
    },
    "hosts of ns-2 under BLUE, traffic of its web sessions": {
        "queue": {"blue": {}},
        "users": _NO_USERS,
        "sources": [{"packmime": {"rate_per_second": 8}}],
        "tcp": {"profile": "ns2-reno"},
    },
    "a rate that changes, under AVQ": {
        "link": {**_SLOW, "rate_changes": [{"at": "30 s", "rate": "1 Mbit/s"}]},
        "queue": {"avq": {}},
        "users": _WEB,
    },
    "a chain with datagrams and bursts": {
        "link": [{"rate": "2 Mbit/s"}, {"rate": "3 Mbit/s", "delay": "5 ms", "queue": {"sfb": {}}}],
        "users": {**_WEB, "per_side": 100, "path": (1, 2)},
        "sources": [
            {"datagrams": {"rate": "200 kbit/s", "packet": "500 B", "path": (2, 3)}},
            {"transfers": {"rate_per_second": [3, 3], "size": {"exponential": {"mean": "12 kB"}}, "path": (1, 3)}},
        ],
    },
    "a shaper and a trace of rates under FQ-CoDel": {
        "link": {
            "rate": {
                "up": {"token_bucket": {"rate": "2 Mbit/s", "burst": "16 kB"}},
                "down": {"trace": {"seconds": [0, 4, 5, 9, 12], "mbps": [4, 0, 2, 6, 3]}},
            }
        },
        "queue": {"fq_codel": {}},
        "users": {**_WEB, "per_side": 100},
        "tcp": _LINUX,
    },
    "a policer and opportunities of Mahimahi under CoDel": {
        "link": [
            {"rate": {"policer": {"rate": "3 Mbit/s", "burst": "64 kB"}}},
            {"rate": {"mahimahi": {"opportunities": [2, 2, 9, 11, 11, 11, 20]}}, "overhead": "4 B", "device_fifo": 0},
        ],
        "queue": {"codel": {}},
        "users": {**_WEB, "per_side": 100},
        "tcp": _LINUX,
    },
    "every impairment of the wire": {
        "link": {
            "rate": "3 Mbit/s",
            "loss": {"up": 0.002, "down": {"gilbert_elliott": {"p": 0.001, "r": 0.2}}},
            "bit_error_rate": 1e-8,
            "duplicate": 0.002,
            "jitter": {"up": "4 ms", "down": "1 ms"},
            "reorder": {"probability": 0.002, "delay": "9 ms"},
            "ecn": {"up": "pass", "down": "bleach"},
            "outages": [
                {"at": "20 s", "lasts": "300 ms"},
                {"at": "12 s", "lasts": "50 ms", "every": "15 s", "packets": "lost"},
            ],
            "delay_changes": [{"at": "15 s", "delay": "9 ms", "every": "20 s"}, {"at": "25 s", "delay": "2 ms"}],
        },
        "queue": {"pi2": {}},
        "users": {**_WEB, "per_side": 100},
        "tcp": {**_LINUX, "ecn": True},
    },
    "hosts of two kinds under LDC": {
        "queue": {"ldc": {}},
        "users": _WEB,
        "tcp": {"mix": [{"share": 0.3, "profile": "linux-6"}]},
    },
}
"""Every stack, kind of link and way of deciding, and sources of most kinds; short enough for every test run."""


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
