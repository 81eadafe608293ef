"""The two networks of Le, Aikat, Jeffay and Smith (SIGCOMM 2003), and the uncongested network of any experiment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from aqmlab._core import Resolved, bits_per_second, seconds
from aqmlab.spec import schema
from aqmlab.spec.capacity import rates
from aqmlab.spec.experiment import Experiment, Hosts, Link, QueueSpec, Users

BOTTLENECK = Link(rate="100 Mbit/s")
"""Fast Ethernet between the two routers, which the users congest."""

UNCONGESTED = Link(rate="1 Gbit/s")
"""Gigabit Ethernet between the two routers: the same users without congestion."""

_DROPTAIL = QueueSpec.model_validate({"droptail": {}})

_SPEEDUP = 10
_MIN_RATE_BPS = bits_per_second(rates.common(UNCONGESTED.rate))
_MAX_RATE_BPS = bits_per_second(schema.key("link.rate")["maximum"])
"""The rate of the fastest link that the engine supports."""

_LIMIT = 2400
"""The length in packets of the queue of a link of 1 Gbit/s; the queue of a faster link lasts as long."""


def uncongested(experiment: Experiment) -> Experiment:
    """Return the same users and hosts on the uncongested network, the baseline for the effect of the queues.

    Every link has ten times its mean rate, at least 1 Gbit/s, behind a long drop-tail queue. Delays, overhead, MTU,
    device FIFOs, the interfaces of hosts and the times at which rates change stay the same. The papers' link becomes
    their uncongested link.

    A load still means percent of the *experiment's* link; give a number of users to compare equal traffic.
    """
    scaled = experiment.with_links(_scaled)
    fastest = max(rates.mean_bps(rate) for link in scaled.links for rate in rates.both(link.rate))
    queue = QueueSpec.model_validate({"droptail": {"limit": round(_LIMIT * fastest / _MIN_RATE_BPS)}})
    hosts, sources = _interfaces(experiment)
    return scaled.model_copy(update={"queue": queue, "queue_back": None, "hosts": hosts, "sources": sources})


def _interfaces(experiment: Experiment) -> tuple[Hosts, tuple[dict[str, Any], ...]]:
    """Return hosts and sources with the interface rates that they have on the experiment's own links."""
    # Users and queues do not affect interfaces, and may have keys that the engine does not read.
    without_users = experiment.with_links(
        lambda link: link.model_copy(update={"queue": None, "queue_back": None})
    ).model_copy(update={"users": Users(per_side=0), "queue": _DROPTAIL, "queue_back": None})
    resolved = json.loads(Resolved(without_users.to_json()).json)
    hosts = experiment.hosts.model_copy(update={"rate": resolved["hosts"]["rate"]})
    sources = zip(experiment.sources, resolved.get("sources", ()), strict=True)
    return hosts, tuple(
        {kind: {**table, "interface": with_defaults[kind]["interface"]} for kind, table in source.items()}
        for source, with_defaults in sources
    )


def greedy(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the sources that fill any capacity, so that no network is uncongested with them.

    They are endless transfers and on-off flows without a pause.
    """
    return [
        parameters.get("name", kind)
        for source in sources
        for kind, parameters in source.items()
        if (kind == "bulk" and "bytes" not in parameters) or (kind == "on_off" and not _pauses(parameters))
    ]


def _scaled(link: Link) -> Link:
    """Return a link with raised rates, and without a queue of its own."""
    changes = link.rate_changes and tuple(
        change.model_copy(update={"rate": rates.change(change.rate, _raised_rate)}) for change in link.rate_changes
    )
    rate = rates.change(link.rate, _raised_rate)
    return link.model_copy(update={"rate": rate, "rate_changes": changes, "queue": None, "queue_back": None})


def _raised_rate(rate: str | Mapping[str, Any]) -> str | dict[str, Any]:
    mean = rates.mean_bps(rate)
    raised = min(max(_SPEEDUP * mean, _MIN_RATE_BPS), _MAX_RATE_BPS)
    match rate:
        # The delays and the losses of a path stay, as those of any wire.
        case {"leo": dict(table)}:
            return {"leo": {**table, "rate": f"{raised} bit/s"}}
        case {"trace": {"mbps": list(mbps), **columns}} if columns.keys() & {"delay_ms", "loss"}:
            return {"trace": {**columns, "mbps": [raised / mean * value for value in mbps]}}
    return f"{raised} bit/s"


def _pauses(on_off: Mapping[str, Any]) -> bool:
    """Return true if a flow pauses between its bursts; the engine refuses invalid times."""
    match on_off.get("off"):
        case {"fixed": str(time)} | {"exponential": {"mean": str(time)}} | {"pareto": {"mean": str(time)}}:
            return bool(seconds(time))
    return True
