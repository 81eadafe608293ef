"""Responsiveness under working conditions: round trips per minute (RPM) while the link is loaded.

The measure is that of draft-ietf-ippm-responsiveness-08, "Responsiveness under Working Conditions": the mean of two
rates. One is that of *foreign* round trips, on connections of their own, and the other that of *loaded* round trips, on
connections that fill the link.
Its client repeatedly opens a connection and requests an object of one byte, at most a hundred times a second and with
at most 5 % of the capacity. The handshake and the request are a round trip each (the draft's case without TLS). Their
mean is trimmed on one side: the longest 5 % are left out.

Such a client is added to the experiment, in a separate run with the same seed: the other traffic has the same random
draws. Its hosts are at the link, so that round trips are those of the link alone, losses included. A loaded round trip
is that of a loading connection's packets, which the draft uses if no request can be sent on the connection. It is the
propagation and the mean queueing delay of the packets of sources that fill any capacity. Without such sources the
loaded rate is the foreign one. The percentiles are those of untrimmed round trips.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from aqmlab.cells.cell import Cell
from aqmlab.results.measures.measure import ByScheme, Column, Measure, MeasuredRow, over_seeds, simulated_alone
from aqmlab.running.sweep import sweep
from aqmlab.spec import presets
from aqmlab.store.result import Result
from aqmlab.store.store import Store

_TRIMMED_SHARE = 0.95
"""TMP of the draft's parameters: the quantile of the longest round trip that counts."""

_PROBES_PER_SECOND = 100
"""MPS: the largest number of probes a second."""

_BYTES = 5000
"""The draft's estimate of the bytes of a probe."""

_MAX_CAPACITY_SHARE = 0.05
"""PTC: the largest share of the capacity that probes may use."""

_QUANTILES = (50, 95, 99)


def round_trips_per_minute(foreign_ms: float, loaded_ms: float) -> float:
    """Return the rate from a foreign and a loaded round trip.

    Examples
    --------
    >>> round_trips_per_minute(foreign_ms=20, loaded_ms=60)
    2000.0
    """
    return (60_000 / foreign_ms + 60_000 / loaded_ms) / 2


def trimmed_mean(times: pl.Series) -> float | None:
    """Return the mean of the times up to their 95th percentile; ``None`` without times.

    Examples
    --------
    >>> trimmed_mean(pl.Series([10.0] * 19 + [1000.0]))
    10.0
    """
    longest = times.quantile(_TRIMMED_SHARE, "lower")
    return None if longest is None else float(times.filter(times <= longest).to_numpy().mean())


def with_probes(cell: Cell) -> Cell:
    """Return a cell with the draft's client as its last source."""
    slowest_bps = min(
        rate
        for link in cell.links
        for rate in (link.rate_bps, link.rate_back_bps, *(bps for _, each in link.rate_changes for bps in each))
    )
    probes_per_second = min(_PROBES_PER_SECOND, _MAX_CAPACITY_SHARE * slowest_bps / (8 * _BYTES))
    rates, rtt = [probes_per_second, 0], {"fixed": "0 s"}
    probes = {"name": "probes", "rate_per_second": rates, "size": {"fixed": "1 B"}, "rtt": rtt}
    return cell.with_changes(
        "probed",
        sources=[*cell.resolved.get("sources", ()), {"transfers": probes}],
        record={**cell.resolved["record"], "exchanges": True},
    )


def round_trips_ms(result: Result) -> pl.Series:
    """Return the round trips of a cell's probes, each the mean of handshake and request."""
    number = len(result.cell.resolved["sources"])
    return result.exchanges.filter(pl.col("source") == number)["response_time_ms"] / 2


def loaded_ms(result: Result) -> float | None:
    """Return the mean loaded round trip; ``None`` if no source fills the link."""
    propagation_ms = 2000 * sum(link.delay_s for link in result.cell.links)
    delays = [
        source["queue_delay_ms_each_way"]
        for source, source_spec in zip(result.summary["sources"], result.cell.resolved["sources"], strict=True)
        if presets.greedy([source_spec])
    ]
    trips = [
        propagation_ms + sum(delay["mean"] for delay in directions)
        for directions in delays
        if None not in [w["mean"] for w in directions]
    ]
    return sum(trips) / len(trips) if trips else None


def _measure_seed(result: Result) -> dict[str, float | None]:
    store = Store(result.location.parents[1])
    (probed,) = sweep([with_probes(result.cell)], store)
    trips = round_trips_ms(probed)
    foreign = trimmed_mean(trips)
    if foreign is None:
        return dict.fromkeys(("rpm", "foreign", "loaded", *(f"p{percent}" for percent in _QUANTILES)))
    loaded = loaded_ms(probed) or foreign
    return {
        "rpm": round_trips_per_minute(foreign, loaded),
        "foreign": foreign,
        "loaded": loaded,
        **{f"p{percent}": trips.quantile(percent / 100, "linear") for percent in _QUANTILES},
    }


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in schemes.items():
        yield {"label": label, "of": "link", **over_seeds([_measure_seed(result) for result in results])}


def _extra_cells(cell: Cell) -> Sequence[Cell]:
    return [with_probes(cell)]


RPM = Measure(
    "Responsiveness over the link, round trips per minute, and the round trips, ms",
    {
        "rpm": Column("per minute", 0, "per minute"),
        "foreign": Column("foreign", 1, "ms"),
        "loaded": Column("loaded", 1, "ms"),
        **{f"p{percent}": Column(f"p{percent}", 1, "ms") for percent in _QUANTILES},
    },
    _rows,
    missing_requirement=simulated_alone,
    extra_cells=_extra_cells,
)
