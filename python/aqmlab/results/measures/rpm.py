"""Responsiveness: how many round trips a minute somebody can make while the link is loaded.

The measure is that of draft-ietf-ippm-responsiveness-08, "Responsiveness under Working Conditions": the mean of two
rates, of *foreign* round trips, on connections of their own, and of *loaded* ones, on connections that fill the link.
Its client opens a connection and asks for an object of one byte, again and again, at most a hundred times a second and
with at most 5 % of the capacity. The handshake and the request are a round trip each (the draft's case without TLS);
their mean is one-sided and trimmed: the longest 5 % are left out.

Here such a client is added to the experiment, in a run of its own with the same seed: the others' random draws are the
same. Its hosts are at the link, so that round trips are of the link alone, with all that becomes of their packets. A
loaded round trip is what the draft takes where no request can be put on a connection in use, that of the connection's
packets: the propagation, and the mean waits of the packets of sources that take whatever capacity there is. Without
such sources the loaded rate is the foreign one. Beside the rate stand the round trips as they are, untrimmed.
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

_KEPT = 0.95
"""TMP of the draft's parameters: round trips up to this quantile count."""

_A_SECOND = 100
"""MPS: so many probes at most."""

_BYTES = 5000
"""What the draft takes a probe to cost."""

_OF_CAPACITY = 0.05
"""PTC: what probes may take of the capacity."""

_QUANTILES = (50, 95, 99)


def round_trips_per_minute(foreign_ms: float, loaded_ms: float) -> float:
    """Return the rate, from a round trip on a connection of its own and one on a connection that fills the link.

    Examples
    --------
    >>> round_trips_per_minute(foreign_ms=20, loaded_ms=60)
    2000.0
    """
    return (60_000 / foreign_ms + 60_000 / loaded_ms) / 2


def trimmed_mean(times: pl.Series) -> float | None:
    """Return the mean of the times up to their 95th percentile; ``None`` where there are none.

    Examples
    --------
    >>> trimmed_mean(pl.Series([10.0] * 19 + [1000.0]))
    10.0
    """
    longest = times.quantile(_KEPT, "lower")
    return None if longest is None else float(times.filter(times <= longest).to_numpy().mean())


def probed(cell: Cell) -> Cell:
    """Return a cell in which the draft's client asks as well, the last of its sources."""
    slowest_bps = min(
        rate
        for link in cell.links
        for rate in (link.rate_bps, link.rate_back_bps, *(changed for _, changed in link.rate_changes))
    )
    a_second = min(_A_SECOND, _OF_CAPACITY * slowest_bps / (8 * _BYTES))
    rates, rtt = [a_second, 0], {"fixed": "0 s"}
    probes = {"name": "probes", "rate_per_second": rates, "size": {"fixed": "1 B"}, "rtt": rtt}
    return cell.varied(
        "probed",
        sources=[*cell.resolved.get("sources", ()), {"transfers": probes}],
        record={**cell.resolved["record"], "exchanges": True},
    )


def round_trips_ms(result: Result) -> pl.Series:
    """Return the round trips of a probed cell's probes, the mean of handshake and request of each."""
    number = len(result.cell.resolved["sources"])
    return result.exchanges.filter(pl.col("source") == number)["response_time_ms"] / 2


def loaded_ms(result: Result) -> float | None:
    """Return the mean round trip of the packets that fill the link; ``None`` where no source does."""
    propagation_ms = 2000 * sum(link.delay_s for link in result.cell.links)
    filling = [
        source["queue_delay_ms_each_way"]
        for source, given in zip(result.summary["sources"], result.cell.resolved["sources"], strict=True)
        if presets.greedy([given])
    ]
    trips = [
        propagation_ms + sum(way["mean"] for way in ways) for ways in filling if None not in [w["mean"] for w in ways]
    ]
    return sum(trips) / len(trips) if trips else None


def _of_seed(result: Result) -> dict[str, float | None]:
    store = Store(result.place.parents[1])
    (with_probes,) = sweep([probed(result.cell)], store)
    trips = round_trips_ms(with_probes)
    foreign = trimmed_mean(trips)
    if foreign is None:
        return dict.fromkeys(("rpm", "foreign", "loaded", *(f"p{percent}" for percent in _QUANTILES)))
    loaded = loaded_ms(with_probes) or foreign
    return {
        "rpm": round_trips_per_minute(foreign, loaded),
        "foreign": foreign,
        "loaded": loaded,
        **{f"p{percent}": trips.quantile(percent / 100, "linear") for percent in _QUANTILES},
    }


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in schemes.items():
        yield {"label": label, "of": "link", **over_seeds([_of_seed(result) for result in results])}


def _beside(cell: Cell) -> Sequence[Cell]:
    return [probed(cell)]


RPM = Measure(
    "Responsiveness, round trips a minute over the link, and what the round trips are, ms",
    {
        "rpm": Column("per minute", 0, "per minute"),
        "foreign": Column("foreign", 1, "ms"),
        "loaded": Column("loaded", 1, "ms"),
        **{f"p{percent}": Column(f"p{percent}", 1, "ms") for percent in _QUANTILES},
    },
    _rows,
    lacks=simulated_alone,
    beside=_beside,
)
