"""The identity of a cell as columns: what was simulated, so that results tell themselves apart.

All of it is derived here, once, when a cell is written. ``summary.parquet``, ``Store.cells()``, the metadata of every
table and ``aqmlab ls`` show these columns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from aqmlab._core import Link
from aqmlab.spec import users
from aqmlab.spec.experiment import ECN_SWITCH

COLUMNS = {
    "label": (pa.string(), "The scheme as it was typed first."),
    "scheme": (
        pa.string(),
        "The discipline's name; of several `fq_codel / droptail` by directions and `pi | codel` by links.",
    ),
    "parameters": (
        pa.string(),
        "The discipline's parameters with every default filled in, as JSON; where queues differ, the queue of"
        " each direction by its name.",
    ),
    "load_percent": (
        pa.float64(),
        "Offered load in percent of the link's rate, by the calibration; null where the workload has none.",
    ),
    "users_per_side": (pa.int64(), "Users on each side of the link."),
    "signal": (
        pa.string(),
        "How congestion is signalled: `none` (uncongested), `drop`, `ecn`, or another form of ECN.",
    ),
    "variant": (
        pa.string(),
        "The changes of the experiment's spec that the cell was run with, as they are typed; null without any.",
    ),
    "workload": (pa.string(), "The table of what web users do; null without users."),
    "rtt": (pa.string(), "The table of round-trip times; null without users."),
    "rate_mbps": (pa.float64(), "The rate of the link in direction 0; of a chain that of the slowest link."),
    "rate_back_mbps": (pa.float64(), "The same in direction 1."),
    "delay_ms": (pa.float64(), "The propagation delay of one direction; of a chain the sum over its links."),
    "device_fifo_packets": (
        pa.int64(),
        "Packets that the device holds below the discipline; null where the links of a chain differ.",
    ),
    "chain": (pa.string(), "The links in series, from side 0: rate, rate back, delay; null for one link."),
    "tcp": (pa.string(), "The TCP profile; of a mix each with its share."),
    "congestion": (pa.string(), "The congestion control; of a mix each with its share."),
    "ecn": (pa.string(), "The form of ECN that the hosts negotiate, or `off`; of a mix each with its share."),
    "traffic": (pa.string(), "The sources beside the web users: flows, kind, name and rate; null without any."),
    "warmup_s": (pa.float64(), "Simulated time before the measured window."),
    "duration_s": (pa.float64(), "Length of the measured window."),
    "seed": (pa.uint64(), "It decides all random draws."),
    "results": (pa.int64(), "The number of the engine's results."),
    "world": (pa.string(), "Where it ran: `simulated`, or `live`, over the TCP of a kernel."),
    "kernel": (pa.string(), "The release of that kernel; null in the simulator."),
    "testbed": (pa.string(), "The testbed that the spec named; null without one."),
    "experiment": (
        pa.string(),
        "A digest of the resolved spec without scheme, variant and seed: cells that share it may be compared. That of a"
        " cell which several experiments have, such as on the uncongested network, is that of the first.",
    ),
    "spec": (
        pa.string(),
        "The resolved spec as JSON, for queries: shipped tables by name, long lists and texts as their digests."
        " `spec.json` has all of it.",
    ),
}
"""The columns that say what a cell is, with their meanings."""

SCHEMA = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])
"""What a cell is, as columns."""

_DIGITS = 8
_MOST_NAMED = 6
"""Sources and links that are named one by one; of more there is the number."""
_LONGEST_LIST, _LONGEST_TEXT = 64, 500
"""What is longer stands by its digest in the column ``spec``."""


def digest(text: str) -> str:
    """Return a short digest: eight hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def spec_columns(resolved: Mapping[str, Any], links: Sequence[Link]) -> dict[str, Any]:
    """Return the columns that follow from a resolved spec alone, but for the spec itself.

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
        "chain": _listed(map(_link, resolved["chain"]), " > ") if resolved.get("chain") else None,
        "tcp": _mixed(tcp, lambda stack: stack["profile"]),
        "congestion": _mixed(tcp, lambda stack: stack["congestion"]),
        "ecn": _mixed(tcp, _ecn),
        "traffic": _listed(map(_source, resolved["sources"]), ", ") if resolved.get("sources") else None,
    }


def abridged(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resolved spec without what is too long to look at; two that differ still do.

    Tables that ship stand by their names, long lists and texts by their digests. Names of sides are left out: they
    decide no result, and tables are the same without them.
    """
    of_users = dict(resolved["users"])
    for field in users.FIELDS:
        if isinstance(of_users[field], Mapping):
            name = users.name_of(field, of_users[field])
            of_users[field] = name if name in users.shipped(field) else of_users[field]
    short: dict[str, Any] = _short({**resolved, "users": of_users})
    short.pop("sides", None)
    return short


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list) and len(value) <= _LONGEST_LIST:
        return [_short(each) for each in value]
    if isinstance(value, list) or (isinstance(value, str) and len(value) > _LONGEST_TEXT):
        what = "values" if isinstance(value, list) else "characters"
        return f"{len(value)} {what}, sha256 {digest(json.dumps(value))}"
    return value


def _mixed(tcp: Mapping[str, Any], of: Callable[[Mapping[str, Any]], str]) -> str:
    """Name what hosts have; where others have something else, that with their share."""
    usual = of(tcp)
    parts = [usual]
    for stack in tcp.get("mix", ()):
        if (other := of(stack)) != usual:
            hosts = "".join(f" of {key} {stack[key]}" for key in ("source", "side", "role") if key in stack)
            parts.append(f"{100 * stack['share']:g} %{hosts} {other}")
    return _listed(parts, ", ")


def _ecn(stack: Mapping[str, Any]) -> str:
    names = {value: name for name, value in ECN_SWITCH.items()}
    return names.get(stack["ecn"], str(stack["ecn"]))


def _link(link: Mapping[str, Any]) -> str:
    back = f"/{link['rate_back']}" if "rate_back" in link else ""
    return f"{link['rate']}{back} {link['delay']}"


def _source(source: Mapping[str, Any]) -> str:
    ((kind, parameters),) = source.items()
    name = parameters.get("name", kind)
    words = (parameters.get("flows"), kind, None if name == kind else name, parameters.get("rate"))
    return " ".join(str(word) for word in words if word is not None)


def _listed(parts: Iterable[str], between: str) -> str:
    every = list(parts)
    more = [] if len(every) <= _MOST_NAMED else [f"{len(every) - _MOST_NAMED} more"]
    return between.join([*every[:_MOST_NAMED], *more])
