"""The identity of a cell as columns, by which results can be told apart.

They are derived here, once, when a cell is written. ``summary.parquet``, ``Store.cells()``, the metadata of every
table and ``aqmlab ls`` show them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from aqmlab._core import Link
from aqmlab.spec import directions, users
from aqmlab.spec.capacity import rates
from aqmlab.spec.experiment import ECN_SWITCH

COLUMNS = {
    "label": (pa.string(), "The scheme as it was typed first."),
    "scheme": (
        pa.string(),
        "The name of the discipline; two directions are written `fq_codel / droptail`, links `pi | codel`.",
    ),
    "parameters": (
        pa.string(),
        "The discipline's parameters with every default filled in, as JSON; if queues differ, the queue of"
        " each direction by its name.",
    ),
    "load_percent": (
        pa.float64(),
        "Offered load in percent of the link's rate, by the calibration; null if the workload has no calibration.",
    ),
    "users_per_side": (pa.int64(), "Users on each side of the link."),
    "signal": (
        pa.string(),
        "The congestion signal: `none` (uncongested), `drop`, `ecn`, or another form of ECN.",
    ),
    "variant": (
        pa.string(),
        "The changes of the experiment's spec that make a variant, as typed; null without any.",
    ),
    "workload": (pa.string(), "The table of the web users' behaviour; null without users."),
    "rtt": (pa.string(), "The table of round-trip times; null without users."),
    "rate_mbps": (pa.float64(), "The rate of the link in direction 0; for a chain, of its slowest link."),
    "rate_back_mbps": (pa.float64(), "The rate of the link in direction 1; for a chain, of its slowest link."),
    "delay_ms": (pa.float64(), "The propagation delay of one direction; for a chain, the sum over its links."),
    "device_fifo_packets": (
        pa.int64(),
        "The length of the device FIFO below the discipline; null if the links of a chain differ.",
    ),
    "chain": (pa.string(), "The links in series, from side 0: rate, rate back, delay; null for one link."),
    "tcp": (pa.string(), "The TCP profile; for a mix, each with its share."),
    "congestion": (pa.string(), "The congestion control; for a mix, each with its share."),
    "ecn": (pa.string(), "The form of ECN that the hosts negotiate, or `off`; for a mix, each with its share."),
    "traffic": (pa.string(), "The sources besides the web users: flows, kind, name and rate; null without any."),
    "warmup_s": (pa.float64(), "Simulated time before the measurement window."),
    "duration_s": (pa.float64(), "Length of the measurement window."),
    "seed": (pa.uint64(), "The seed of all random draws."),
    "results": (pa.int64(), "The results number of the engine."),
    "world": (
        pa.string(),
        "The world of the run: `simulated`, `live` over this machine's TCP, or `kernel` in virtual time.",
    ),
    "kernel": (pa.string(), "The release of that kernel; null in the simulator."),
    "testbed": (pa.string(), "The testbed that the spec names; null without one."),
    "experiment": (
        pa.string(),
        "A digest of the resolved spec without scheme, variant and seed: cells that share it may be compared. A cell of"
        " several experiments, such as one on the uncongested network, has the digest of the first.",
    ),
    "spec": (
        pa.string(),
        "The resolved spec as JSON, for queries: shipped tables by name, long lists and texts as their digests."
        " `spec.json` has the whole spec.",
    ),
}
"""The columns that identify a cell, with their types and meanings."""

SCHEMA = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])
"""The Arrow schema of the columns."""

_DIGITS = 8
_MAX_NAMES = 6
"""The largest number of sources or links that are listed; of the others only the number is shown."""
_MAX_LIST, _MAX_TEXT = 64, 500
"""The column ``spec`` has the digest of a longer list or text."""


def digest(text: str) -> str:
    """Return a short digest: eight hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def spec_columns(resolved: Mapping[str, Any], links: Sequence[Link]) -> dict[str, Any]:
    """Return the columns that follow from a resolved spec alone, except the spec itself.

    Parameters
    ----------
    resolved
        The resolved spec as tables.
    links
        Its links in numbers.
    """
    tcp = resolved["tcp"]
    fifos = {link.device_fifo for link in links}
    has_users = resolved["users"]["per_side"] > 0
    return {
        "workload": users.name_of("workload", resolved["users"]["workload"]) if has_users else None,
        "rtt": users.name_of("rtt", resolved["users"]["rtt"]) if has_users else None,
        "rate_mbps": min(link.rate_bps for link in links) / 1e6,
        "rate_back_mbps": min(link.rate_back_bps for link in links) / 1e6,
        "delay_ms": round(1e3 * sum(link.delay_s for link in links), 6),
        "device_fifo_packets": fifos.pop() if len(fifos) == 1 else None,
        "chain": _join(map(_link, resolved["link"]), " > ") if directions.is_chain(resolved) else None,
        "tcp": _mixed(tcp, lambda stack: stack["profile"]),
        "congestion": _mixed(tcp, lambda stack: stack["congestion"]),
        "ecn": _mixed(tcp, _ecn),
        "traffic": _join(map(_source, resolved["sources"]), ", ") if resolved.get("sources") else None,
    }


def abridged(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shortened resolved spec. Different specs stay different.

    Shipped tables are replaced by their names, long lists and texts by their digests. The names of sides are left out,
    because they do not affect results.
    """
    user_tables = dict(resolved["users"])
    for field in users.FIELDS:
        if isinstance(user_tables[field], Mapping):
            name = users.name_of(field, user_tables[field])
            user_tables[field] = name if name in users.packaged_tables(field) else user_tables[field]
    abridged: dict[str, Any] = _short({**resolved, "users": user_tables})
    abridged.pop("sides", None)
    return abridged


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list) and len(value) <= _MAX_LIST:
        return [_short(item) for item in value]
    if isinstance(value, list) or (isinstance(value, str) and len(value) > _MAX_TEXT):
        unit = "values" if isinstance(value, list) else "characters"
        return f"{len(value)} {unit}, sha256 {digest(json.dumps(value))}"
    return value


def _mixed(tcp: Mapping[str, Any], describe: Callable[[Mapping[str, Any]], str]) -> str:
    """Return the hosts' value, followed by each other value of a mix with its share."""
    main = describe(tcp)
    parts = [main]
    for stack in tcp.get("mix", ()):
        if (text := describe(stack)) != main:
            hosts = "".join(f" of {key} {stack[key]}" for key in ("source", "side", "role") if key in stack)
            parts.append(f"{100 * stack['share']:g} %{hosts} {text}")
    return _join(parts, ", ")


def _ecn(stack: Mapping[str, Any]) -> str:
    names = {value: name for name, value in ECN_SWITCH.items()}
    return names.get(stack["ecn"], str(stack["ecn"]))


def _link(link: Mapping[str, Any]) -> str:
    return f"{rates.text(link['rate'])} {link['delay']}"


def _source(source: Mapping[str, Any]) -> str:
    ((kind, parameters),) = source.items()
    name = parameters.get("name", kind)
    parts = (parameters.get("flows"), kind, None if name == kind else name, parameters.get("rate"))
    return " ".join(str(part) for part in parts if part is not None)


def _join(parts: Iterable[str], separator: str) -> str:
    texts = list(parts)
    rest = [] if len(texts) <= _MAX_NAMES else [f"{len(texts) - _MAX_NAMES} more"]
    return separator.join([*texts[:_MAX_NAMES], *rest])
