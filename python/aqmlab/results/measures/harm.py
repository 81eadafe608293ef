"""Harm: the loss of performance that other traffic causes to the web users or to a source.

Source: Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's fairness index: setting the bar for the deployment of
congestion control algorithms", HotNets 2019. The performance in a solo run is compared with that in the shared run:
(solo - shared) / solo if more is better, and (shared - solo) / shared if less is better. 0 is no harm, and 1 is the
largest possible harm; a negative harm is a benefit.

The solo run has the same seed, network and discipline, and all other traffic is silent. Random draws are the same, so
that it has the same requests. The harm is that of all others together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from aqmlab.cells.cell import Cell
from aqmlab.metrics.flows import USERS_NAME, by_class
from aqmlab.metrics.metrics import lookup
from aqmlab.results.measures.measure import (
    WEB_USERS,
    ByScheme,
    Column,
    Measure,
    MeasuredRow,
    congested,
    over_seeds,
    simulated_alone,
)
from aqmlab.running.sweep import sweep
from aqmlab.store.result import Result
from aqmlab.store.store import Store


def harm_if_more_is_better(solo: float | None, shared: float | None) -> float | None:
    """Return the harm to a measure of which more is better, such as throughput; ``None`` if it is 0 in the solo run.

    Examples
    --------
    >>> harm_if_more_is_better(solo=8.0, shared=2.0)
    0.75
    """
    return None if solo is None or shared is None or not solo else (solo - shared) / solo


def harm_if_less_is_better(solo: float | None, shared: float | None) -> float | None:
    """Return the harm to a measure of which less is better, such as a delay; ``None`` if it is 0 in the shared run.

    Examples
    --------
    >>> harm_if_less_is_better(solo=10.0, shared=40.0)
    0.75
    """
    return None if solo is None or shared is None or not shared else (shared - solo) / shared


def solo_cells(cell: Cell) -> list[Cell]:
    """Return the solo runs of a cell: the web users if there are any, then each source.

    Other sources are silent, not removed: a source's random draws depend on its index, and its hosts on its name.
    """
    users = [WEB_USERS] if cell.users_per_side else []
    return [_solo_cell(cell, number) for number in (*users, *range(1, len(cell.resolved.get("sources", ())) + 1))]


def _solo_cell(cell: Cell, number: int) -> Cell:
    sources = cell.resolved.get("sources", [])
    silent = [_silence(source, until=f"{math.ceil(cell.end_s) + 1} s") for source in sources]
    if number == WEB_USERS:
        name, users_per_side, load_percent = USERS_NAME, cell.users_per_side, cell.load_percent
    else:
        name, users_per_side, load_percent = silent[number - 1]["bulk"]["name"], 0, None
        silent[number - 1] = sources[number - 1]
    users = {**cell.resolved["users"], "per_side": users_per_side}
    solo_cell = cell.with_changes(f"{name} alone", users=users, **({"sources": silent} if sources else {}))
    return replace(solo_cell, users_per_side=users_per_side, load_percent=load_percent)


def _silence(source: Mapping[str, Any], until: str) -> dict[str, Any]:
    """Return a source that begins after the end of the run, with the name and the path of another."""
    ((kind, parameters),) = source.items()
    identity = {key: parameters[key] for key in ("name", "path") if parameters.get(key) is not None}
    return {"bulk": {"name": kind, **identity, "flows": 1, "start": until}}


def harms(traffic: Mapping[str, Any], solo_traffic: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the harm to the throughput, the response times and the queueing delay of the web users or a source.

    Parameters
    ----------
    traffic, solo_traffic
        The numbers of :func:`aqmlab.metrics.flows.by_class`, in the shared and the solo run.
    """

    def pair(*path: str) -> tuple[float | None, float | None]:
        return lookup(solo_traffic, path), lookup(traffic, path)

    # The throughput of web users is in requests: file sizes are so heavy-tailed that a few would decide the bytes.
    completed = "goodput_mbps" if traffic["goodput_mbps"] is not None else "completed"
    return {
        "throughput": harm_if_more_is_better(*pair(completed)),
        "response_time": harm_if_less_is_better(*pair("response_time_ms", "mean")),
        "delay": harm_if_less_is_better(*pair("queue_delay_ms", "mean")),
    }


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in congested(schemes).items():
        by_seed = [_measure_seed(result) for result in results]
        for name in by_seed[0]:
            yield {"label": label, "of": name, **over_seeds([harms_of_seed[name] for harms_of_seed in by_seed])}


def _measure_seed(result: Result) -> dict[str, dict[str, float | None]]:
    """Return the harm to each part of a cell's traffic, by name; missing solo runs are run."""
    store = Store(result.location.parents[1])
    solos = [by_class(result.summary) for result in sweep(_extra_cells(result.cell), store)]
    shared = by_class(result.summary)
    return {name: harms(traffic, solo[name]) for (name, traffic), solo in zip(shared.items(), solos, strict=True)}


def _extra_cells(cell: Cell) -> list[Cell]:
    return [] if cell.signal == "none" else solo_cells(cell)


HARM = Measure(
    "Harm by other traffic, as a fraction of the solo performance",
    {
        "throughput": Column("throughput", 2, "of 1"),
        "response_time": Column("response time", 2, "of 1"),
        "delay": Column("delay", 2, "of 1"),
    },
    _rows,
    missing_requirement=simulated_alone,
    extra_cells=_extra_cells,
)
