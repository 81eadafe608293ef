"""One comparison of laws: a kernel in virtual time that gets the packets of an oracle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from aqmlab.running import guest
from laws.comparisons import Comparison

SEED = 1
"""The seed of the traffic, of the kernel and of its coin: ours."""

PATTERNS = 200
PACKETS = 1500
"""The traffic patterns of a comparison, and the packets of each: ours."""

Row = Mapping[str, Any]


def compare(comparison: Comparison, *, patterns: int = PATTERNS, packets: int = PACKETS, coin: int = SEED) -> Row:
    """Return the counts of one comparison, as the kernel's process writes them.

    Parameters
    ----------
    comparison
        The kernel's discipline and ours.
    patterns
        The number of traffic patterns.
    packets
        The number of packets in each.
    coin
        The seed of our coin; the kernel's is the default.

    Raises
    ------
    RuntimeError
        When the comparison does not come to its end.
    """
    oracle = {
        "tc": comparison.tc,
        "queue": {comparison.law: dict(comparison.parameters)},
        "ecn": comparison.ecn,
        "seed": SEED,
        "coin": coin,
        "patterns": patterns,
        "packets": packets,
        "segments": comparison.segments,
        "loss": comparison.loss,
        "slowest": comparison.slowest,
    }
    with ExitStack() as held:
        process = guest.start({"oracle": oracle, "seed": SEED}, held, options=[f"coin={SEED}"])
        output, _ = process.communicate()
    lines = output.decode(errors="replace").splitlines()
    row: dict[str, Any] = json.loads(lines[-1]) if lines else {"failed": "no output"}
    if "differences" not in row:
        raise RuntimeError(f"{comparison.name}: {' '.join(map(str, row.values()))}")
    return row
