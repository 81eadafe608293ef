"""The experiments: web users under each scheme, and flows over a queue without AQM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab._core import Resolved
from aqmlab.models.batch_queue import WINDOWS_KIB, burst_sizes
from aqmlab.spec import schemes
from aqmlab.spec.experiment import Experiment, Hosts, Link, Protocol, Record
from aqmlab.studies.kit.study import Length, Run
from aqmlab.studies.kuzmanovic2005 import names
from aqmlab.studies.kuzmanovic2005.measures import PACKET_BYTES, PACKETS_PER_SECOND, SEGMENT_BYTES, WINDOWS

_MEAN_PACKET = 900
"""Mean packet in the direction of the data, in bytes: 904 in the uncongested network. Le et al., with data in both
directions, have a little over 500."""

_TARGET = round(5e-3 * 100e6 / 8 / _MEAN_PACKET)
"""5 ms of 100 Mbit/s, in packets."""

_RED = f"min_th={_TARGET / 2:g},max_th={3 * _TARGET / 2:g},w_q=1/8192,mean_packet={_MEAN_PACKET} B"
"""The target is half-way between the thresholds, of which one is three times the other."""

SCHEMES = {
    "PI": f"pi:q_ref={_TARGET},mode=packet",
    "RED": f"red:{_RED}",
    "RED*": f"red_star:{_RED}",
    "REM": f"rem:q_ref={_TARGET},mode=packet,mean_packet={_MEAN_PACKET} B",
    "threshold": "threshold:target_delay=5 ms",
}
"""The laws as typed, without ECN; all have the same target."""

_NS2 = {"profile": "ns2-newreno", "initial_window": 2, "initial_rto": "6 s", "tick": "10 ms"}
"""ns-2 of early 2005: two packets at first since 2001, a clock of 10 ms since 2002, and still 6 s."""

_LINK = Link(rate="100 Mbit/s", overhead="0 B", device_fifo=0)
"""A link of ns-2: frames are no longer than their packets, and no driver's ring holds packets below the queue."""

_HOSTS = Hosts(rate="100 Mbit/s")
"""Servers as fast as the bottleneck, as in the testbed `unc-2003`."""

_FAST_HOSTS = Hosts(rate="10 Gbit/s")
"""So fast that a burst reaches the queue almost at once, as in the model."""

_ECN = {"drop": "", "ECN": ",ecn=true", "ECN+": ",ecn=ecn+"}

_BYTES_PER_SECOND = PACKETS_PER_SECOND * PACKET_BYTES

_HANDSHAKES = Protocol(warmup="30 s", duration="2 min")
"""Short at every length, because each request is recorded."""

_ONE_WAY = Protocol(warmup="20 s", duration="90 s")
"""Short at every length, because the backlog of an unresponsive overload grows."""

_CONTROL_BYTES = 4 * 40
"""Bytes of a server's segments without data: SYN/ACK, FIN, and acknowledgements of the request and the other FIN."""

_Floats = NDArray[np.float64]


def runs(length: Length) -> Iterator[Run]:
    """Return all experiments."""
    for load in names.LOADS:
        users = _users(load, length.protocol)
        yield Run(name=names.uncongested(load), experiment=users, label="uncongested", uncongested=True)
        for law in names.LAWS:
            for form in names.FORMS:
                yield _scheme(names.scheme(law, form, load), law, form, users)
            for form in names.FORMS[1:]:
                recorded = _users(load, _HANDSHAKES).model_copy(update={"record": Record(exchanges=True)})
                yield replace(_scheme(names.handshakes(law, form, load), law, form, recorded), seeds=1)
    yield _scheme(names.threshold(90), "threshold", "ECN+", _users(90, length.protocol))
    for packets in names.LENGTHS:
        size = {"fixed": f"{packets * SEGMENT_BYTES} B"}
        flows = 0.8 * _BYTES_PER_SECOND / (packets * PACKET_BYTES + _CONTROL_BYTES)
        yield _open(names.equal_flows(packets), length, [_transfers("equal flows", size, flows)])
    for percent in names.UTILISATIONS:
        yield _open(names.web_flows(percent), length, _web_transfers(percent / 100))
    overload = _open("", length, _web_transfers(1.05)).experiment.model_copy(update={"protocol": _ONE_WAY})
    for law in names.LAWS:
        for form in names.FORMS:
            yield _scheme(names.one_way(law, form), law, form, overload)


def _users(load: float, protocol: Protocol) -> Experiment:
    mix = [
        {"share": share, "role": "client", "receive_window": min(1024 * kib, 65_535)}
        for kib, share in WINDOWS_KIB.items()
    ]
    return Experiment(
        link=_LINK,
        hosts=_HOSTS,
        tcp={**_NS2, "mss": 1460, "mix": mix},
        users={"load": load, "sides": 1},
        protocol=protocol,
    )


def _scheme(name: str, law: str, form: str, experiment: Experiment) -> Run:
    # Without ECN RED* drops like RED.
    text = SCHEMES["RED" if (law, form) == ("RED*", "drop") else law] + _ECN[form]
    return Run(name=name, experiment=schemes.parse(text).apply_to(experiment), label=text)


def _transfers(name: str, size: dict[str, Any], per_second: float) -> dict[str, Any]:
    return {"transfers": {"name": name, "rate_per_second": [per_second, 0], "size": size}}


def _web_transfers(load: float) -> list[dict[str, Any]]:
    flows = load * _BYTES_PER_SECOND / mean_web_bytes()
    return [_transfers(name, {"quantiles": table}, share * flows) for name, (table, share) in _web_tables().items()]


def _open(name: str, length: Length, sources: list[dict[str, Any]]) -> Run:
    """Return an experiment of flows that arrive independent of earlier ones, over an endless queue."""
    mix = [
        {"share": share, "role": "client", "receive_window": packets * SEGMENT_BYTES}
        for packets, share in WINDOWS.items()
    ]
    experiment = Experiment(
        link=_LINK,
        hosts=_FAST_HOSTS,
        queue={"droptail": {"limit": 100_000}},
        tcp={**_NS2, "mss": SEGMENT_BYTES, "mix": mix},
        users={"per_side": 0},
        sources=sources,
        protocol=length.protocol,
    )
    return Run(name=name, experiment=experiment, label=name)


def web_bursts() -> _Floats:
    """Return the distribution of bursts of flows of the web's sizes."""
    sizes, shares = web_sizes()
    return burst_sizes(np.ceil(sizes / SEGMENT_BYTES), shares, windows=WINDOWS)


def mean_web_bytes() -> float:
    """Return the mean size of a web flow with its headers, in bytes."""
    sizes, shares = web_sizes()
    headers = PACKET_BYTES - SEGMENT_BYTES
    return float(shares @ (sizes + headers * np.ceil(sizes / SEGMENT_BYTES))) + _CONTROL_BYTES


@cache
def web_sizes() -> tuple[_Floats, _Floats]:
    """Return sizes in bytes and their shares, which add up to 1: the workload's tables in narrow steps."""
    parts = [(*_steps(table["nodes"]), share) for table, share in _web_tables().values()]
    sizes = np.concatenate([sizes for sizes, _, _ in parts])
    return sizes, np.concatenate([share * shares for _, shares, share in parts])


@cache
def _web_tables() -> dict[str, tuple[dict[str, Any], float]]:
    """Return the tables of response sizes with the share of responses of each: frames of pages, embedded objects."""
    web = json.loads(Resolved(Experiment(users={"per_side": 1}).to_json()).json)["users"]["workload"]
    probabilities = np.array(web["embedded_per_page"]["probabilities"])
    objects = float(probabilities @ (web["embedded_per_page"]["min"] + np.arange(len(probabilities))))
    return {
        "frames of pages": (web["top_level_bytes"], 1 / (1 + objects)),
        "embedded objects": (web["embedded_bytes"], objects / (1 + objects)),
    }


def _steps(nodes: list[list[float]]) -> tuple[_Floats, _Floats]:
    """Cut a table of quantiles [u, value] into narrow steps: ln(value) is linear in -ln(1 - u) between its nodes."""
    below, values = np.array(nodes).T
    t = -np.log1p(-below)
    edges = np.concatenate([np.linspace(low, high, 400, endpoint=False) for low, high in pairwise(t)] + [t[-1:]])
    sizes = np.exp(np.interp((edges[1:] + edges[:-1]) / 2, t, np.log(values)))
    # Draws above the last node have its value.
    return np.append(sizes, values[-1]), np.append(-np.diff(np.exp(-edges)), 1 - below[-1])
