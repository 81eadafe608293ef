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


def more_is_better(alone: float | None, beside: float | None) -> float | None:
    """Return the harm to a measure of which more is better, such as throughput; ``None`` if it is 0 in the solo run.

    Examples
    --------
    >>> more_is_better(alone=8.0, beside=2.0)
    0.75
    """
    return None if alone is None or beside is None or not alone else (alone - beside) / alone


def less_is_better(alone: float | None, beside: float | None) -> float | None:
    """Return the harm to a measure of which less is better, such as a delay; ``None`` if it is 0 in the shared run.

    Examples
    --------
    >>> less_is_better(alone=10.0, beside=40.0)
    0.75
    """
    return None if alone is None or beside is None or not beside else (beside - alone) / beside


def alone(cell: Cell) -> list[Cell]:
    """Return the solo runs of a cell: the web users if there are any, then each source.

    Other sources are silent, not removed: a source's random draws depend on its index, and its hosts on its name.
    """
    users = [WEB_USERS] if cell.users_per_side else []
    return [_alone(cell, number) for number in (*users, *range(1, len(cell.resolved.get("sources", ())) + 1))]


def _alone(cell: Cell, number: int) -> Cell:
    sources = cell.resolved.get("sources", [])
    silent = [_silenced(source, until=f"{math.ceil(cell.end_s) + 1} s") for source in sources]
    if number == WEB_USERS:
        name, users_per_side, load_percent = USERS_NAME, cell.users_per_side, cell.load_percent
    else:
        name, users_per_side, load_percent = silent[number - 1]["bulk"]["name"], 0, None
        silent[number - 1] = sources[number - 1]
    users = {**cell.resolved["users"], "per_side": users_per_side}
    varied = cell.varied(f"{name} alone", users=users, **({"sources": silent} if sources else {}))
    return replace(varied, users_per_side=users_per_side, load_percent=load_percent)


def _silenced(source: Mapping[str, Any], until: str) -> dict[str, Any]:
    """Return a source that begins after the end of the run, with the name and the path of another."""
    ((kind, parameters),) = source.items()
    kept = {key: parameters[key] for key in ("name", "path") if parameters.get(key) is not None}
    return {"bulk": {"name": kind, **kept, "flows": 1, "start": until}}


def harms(traffic: Mapping[str, Any], traffic_alone: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the harm to the throughput, the response times and the queueing delay of the web users or a source.

    Parameters
    ----------
    traffic, traffic_alone
        The numbers of :func:`aqmlab.metrics.flows.by_class`, in the shared and the solo run.
    """

    def both(*path: str) -> tuple[float | None, float | None]:
        return lookup(traffic_alone, path), lookup(traffic, path)

    # The throughput of web users is in requests: file sizes are so heavy-tailed that a few would decide the bytes.
    done = "goodput_mbps" if traffic["goodput_mbps"] is not None else "completed"
    return {
        "throughput": more_is_better(*both(done)),
        "response_time": less_is_better(*both("response_time_ms", "mean")),
        "delay": less_is_better(*both("queue_delay_ms", "mean")),
    }


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in congested(schemes).items():
        of_seeds = [_of_seed(result) for result in results]
        for name in of_seeds[0]:
            yield {"label": label, "of": name, **over_seeds([harmed[name] for harmed in of_seeds])}


def _of_seed(result: Result) -> dict[str, dict[str, float | None]]:
    """Return the harm to each part of a cell's traffic, by name; missing solo runs are run."""
    store = Store(result.place.parents[1])
    solos = [by_class(each.summary) for each in sweep(_beside(result.cell), store)]
    together = by_class(result.summary)
    return {name: harms(traffic, solo[name]) for (name, traffic), solo in zip(together.items(), solos, strict=True)}


def _beside(cell: Cell) -> list[Cell]:
    return [] if cell.signal == "none" else alone(cell)


HARM = Measure(
    "Harm by other traffic, as a fraction of the solo performance",
    {
        "throughput": Column("throughput", 2, "of 1"),
        "response_time": Column("response time", 2, "of 1"),
        "delay": Column("delay", 2, "of 1"),
    },
    _rows,
    lacks=simulated_alone,
    beside=_beside,
)
