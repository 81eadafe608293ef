"""Jain's fairness index of goodputs. It is 1 if all are equal, and k / n if k of n are equal and the others 0.

A summary has only the total goodput of a source's flows. For the goodput of each flow, the experiment is run again with
a source of one flow for each, of the same kind and name, on the same hosts. The flows are equivalent, but their starts
and round-trip times are other draws from the same distributions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from aqmlab.cells.cell import Cell
from aqmlab.flows import jain_index
from aqmlab.results.measures.measure import (
    ByScheme,
    Column,
    Measure,
    MeasuredRow,
    over_seeds,
    requests_of_users,
    simulated_alone,
)
from aqmlab.running.sweep import sweep
from aqmlab.store.result import Result
from aqmlab.store.store import Store

_MAX_FLOWS = 1000
"""The largest number of flows with a source of their own."""


def jain(shares: Sequence[float]) -> float | None:
    """Return the index of nonnegative shares; ``None`` if all are 0.

    Examples
    --------
    >>> jain([5.0, 5.0, 0.0, 0.0])
    0.5
    """
    index: float | None = pl.select(jain_index(pl.lit(pl.Series(shares, dtype=pl.Float64)))).item()
    return index


def split_flows(cell: Cell) -> Cell:
    """Return a cell with one source for each flow; the cell itself if that is already so."""
    sources, tcp = cell.resolved.get("sources", ()), cell.resolved["tcp"]
    if all(flows in (None, 1) for flows in map(_flows, sources)):
        return cell
    parts = {_name(source): _split_source(source) for source in sources}
    if tcp.get("mix"):
        # The hosts of a source become the hosts of each of its flows.
        mix = [
            {**hosts, "source": _name(source)} if "source" in hosts else hosts
            for hosts in tcp["mix"]
            for source in (parts[hosts["source"]] if "source" in hosts else [{}])
        ]
        tcp = {**tcp, "mix": mix}
    return cell.with_changes("flow by flow", sources=[source for group in parts.values() for source in group], tcp=tcp)


def _name(source: Mapping[str, Any]) -> str:
    ((kind, parameters),) = source.items()
    return str(parameters.get("name") or kind)


def _flows(source: Mapping[str, Any]) -> int | None:
    """Return the number of a source's flows; ``None`` if it has no long-lived flows."""
    (parameters,) = source.values()
    flows: int | None = parameters.get("flows")
    return flows


def _split_source(source: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    flows, ((kind, parameters),) = _flows(source), source.items()
    if flows in (None, 1):
        return [source]
    return [{kind: {**parameters, "name": f"{_name(source)} #{n}", "flows": 1}} for n in range(1, flows + 1)]


def _flow_index(result: Result) -> float | None:
    """Return the index of the goodput of long-lived flows; ``None`` for fewer than two."""
    cell = split_flows(result.cell)
    (split_result,) = (result,) if cell is result.cell else sweep([cell], Store(result.location.parents[1]))
    sources = zip(split_result.summary["sources"], cell.resolved.get("sources", ()), strict=True)
    goodputs = [summary["goodput_mbps"] for summary, source in sources if _flows(source) is not None]
    return jain(goodputs) if len(goodputs) > 1 else None


def _user_index(result: Result) -> float | None:
    """Return the index of the bytes that web users fetched; a user without a completed request counts as 0."""
    users = result.cell.users_per_side * result.cell.resolved["users"].get("sides", 2)
    if not users:
        return None
    fetched = requests_of_users(result).group_by("user").agg(pl.col("response_bytes").sum())
    shares = fetched["response_bytes"].cast(pl.Float64).to_list()
    return jain([*shares, *[0.0] * (users - len(shares))])


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in schemes.items():
        for name, compute in (("flows' goodput", _flow_index), ("users' bytes fetched", _user_index)):
            seeds = over_seeds([{"jain": compute(result)} for result in results])
            if seeds["jain"] is not None:
                yield {"label": label, "of": name, **seeds}


def _extra_cells(cell: Cell) -> Sequence[Cell]:
    split_cell = split_flows(cell)
    return [] if split_cell is cell else [split_cell]


def _missing_requirement(cell: Cell) -> str | None:
    flows = sum(filter(None, map(_flows, cell.resolved.get("sources", ()))))
    if flows > _MAX_FLOWS:
        return f"at most {_MAX_FLOWS:,} flows, of {flows:,}"
    return simulated_alone(cell) if split_flows(cell) is not cell else None


JAIN = Measure(
    "Fairness, Jain's index",
    {"jain": Column("index", 3, "of 1")},
    _rows,
    needs_exchanges=True,
    missing_requirement=_missing_requirement,
    extra_cells=_extra_cells,
)
